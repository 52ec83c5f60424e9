// Where the page is: the address holds recipe, step and annotator, so that reload, Back and a duplicated tab come to
// the same place.

import { element } from "/shared/dom.js";

export const STEPS = ["words", "flows", "frames"];

let onMove = () => {};

/** Call `handler(route)` now and whenever the address changes. */
export function followRoutes(handler) {
  onMove = () => handler(readRoute(window.location));
  window.addEventListener("popstate", onMove);
  onMove();
}

/** The page that an address names. */
export function readRoute(location) {
  const parts = location.pathname.split("/").filter(Boolean).map(decodeURIComponent);
  const query = new URLSearchParams(location.search);
  const common = {
    layer: query.get("layer"),
    first: query.get("first"),
    second: query.get("second"),
    guided: query.has("guide"),
    at: query.get("at"),
  };
  if (parts[0] === "r" && parts[1]) {
    return { ...common, page: "editor", recipe: parts[1], step: STEPS.includes(parts[2]) ? parts[2] : "words" };
  }
  if (parts[0] === "differences" && parts[1]) return { ...common, page: "differences", recipe: parts[1] };
  if (["agreement", "guide", "find", "times", "new"].includes(parts[0])) return { ...common, page: parts[0] };
  return { ...common, page: "recipes" };
}

/** Go to an address of this site without loading a page. */
export function goTo(address, { replace = false } = {}) {
  window.history[replace ? "replaceState" : "pushState"](null, "", address);
  onMove();
}

/** A link to an address of this site; with Ctrl, Shift or the middle button it opens a tab as any link does. */
export function link(address, props, ...children) {
  const anchor = element("a", { href: address, ...props }, ...children);
  anchor.addEventListener("click", (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    goTo(address);
  });
  return anchor;
}

export function recipesAddress(layer) {
  return layer ? `/?layer=${encodeURIComponent(layer)}` : "/";
}

export function editorAddress(recipe, step, layer, guided = false) {
  return `/r/${encodeURIComponent(recipe)}/${step}?layer=${encodeURIComponent(layer)}${guided ? "&guide" : ""}`;
}

/** A place in a recipe: an entity, a flow (`start>end:label`) or an object (`action/object`). */
export function placeAddress(recipe, step, layer, at) {
  return `${editorAddress(recipe, step, layer)}&at=${encodeURIComponent(at)}`;
}

export function findAddress(layer, query = {}) {
  return `/find?${new URLSearchParams({ layer, ...query })}`;
}

export function newAddress(layer) {
  return `/new?layer=${encodeURIComponent(layer)}`;
}

export function timesAddress(layer) {
  return `/times?layer=${encodeURIComponent(layer)}`;
}

export function agreementAddress(first, second) {
  return `/agreement?first=${encodeURIComponent(first)}&second=${encodeURIComponent(second)}`;
}

export function differencesAddress(recipe, first, second) {
  return `/differences/${encodeURIComponent(recipe)}?first=${encodeURIComponent(first)}&second=${encodeURIComponent(second)}`;
}
