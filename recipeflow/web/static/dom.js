// Making elements. Text only ever becomes a text node or an attribute value: nothing that a recipe says can become
// HTML.

/** @import { Child, Children, Props } from "./types.js" */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * An HTML element. `props` may hold `class`, `data` (an object), `on` (event handlers) and attributes by name.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Props} props
 * @param {Children[]} children
 */
export function element(name, props = {}, ...children) {
  return fillElement(document.createElement(name), props, children);
}

/**
 * An SVG element, with the same `props`.
 *
 * @template {keyof SVGElementTagNameMap} Name
 * @param {Name} name
 * @param {Props} props
 * @param {Children[]} children
 */
export function drawing(name, props = {}, ...children) {
  return fillElement(document.createElementNS(SVG_NAMESPACE, name), props, children);
}

/**
 * Put `children` (elements, text, or nothing for null and false) in the place of all that `parent` holds.
 *
 * @template {Element} Parent
 * @param {Parent} parent
 * @param {Children[]} children
 */
export function replaceContent(parent, ...children) {
  parent.replaceChildren(...shownNodes(children));
  return parent;
}

/**
 * The elements inside `host` that a selector names.
 *
 * @type {(host: ParentNode, selector: string) => HTMLElement[]}
 */
export function findAll(host, selector) {
  return [...host.querySelectorAll(selector)].map((found) => /** @type {HTMLElement} */ (found));
}

/**
 * The nearest element around what an event happened to that a selector names.
 *
 * @type {(event: Event, selector: string) => HTMLElement | SVGElement | null}
 */
export function closestTo(event, selector) {
  return event.target instanceof Element ? event.target.closest(selector) : null;
}

/**
 * Take attributes, handlers and children over; `true` sets an empty attribute, `false` and null leave it out.
 *
 * @template {HTMLElement | SVGElement} Made
 * @param {Made} node
 * @param {Props} props
 * @param {Children[]} children
 */
function fillElement(node, props, children) {
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.setAttribute("class", value);
    else if (key === "data") Object.assign(node.dataset, value);
    else if (key === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...shownNodes(children));
  return node;
}

/** @type {(children: Children[]) => Node[]} */
function shownNodes(children) {
  const flat = /** @type {Child[]} */ (/** @type {any[]} */ (children).flat(Infinity));
  return flat.filter(isShown).map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

function isShown(child) {
  return child !== null && child !== undefined && child !== false;
}
