// Making elements. Text only ever becomes a text node or an attribute value: nothing that a recipe says can become
// HTML.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** An HTML element. `props` may hold `class`, `data` (an object), `on` (event handlers) and attributes by name. */
export function element(name, props = {}, ...children) {
  return fillElement(document.createElement(name), props, children);
}

/** An SVG element, with the same `props`. */
export function drawing(name, props = {}, ...children) {
  return fillElement(document.createElementNS(SVG_NAMESPACE, name), props, children);
}

/** Put `children` (elements, text, or nothing for null and false) in the place of all that `parent` holds. */
export function replaceContent(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter(isShown).map(asNode));
  return parent;
}

/** Take attributes, handlers and children over; `true` sets an empty attribute, `false` and null leave it out. */
function fillElement(node, props, children) {
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.setAttribute("class", value);
    else if (key === "data") Object.assign(node.dataset, value);
    else if (key === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter(isShown).map(asNode));
  return node;
}

function isShown(child) {
  return child !== null && child !== undefined && child !== false;
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}
