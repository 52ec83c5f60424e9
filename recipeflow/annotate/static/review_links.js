// The way from the list of recipes to the pages that look over the work: search, times, guidelines.

import { element } from "/shared/dom.js";

import { loadGuidelines, showGuidelines } from "./guidelines.js";
import { t } from "./language.js";
import { findAddress, link, timesAddress } from "./routes.js";

/** @param {string} layer */
export function reviewLinks(layer) {
  const open = element(
    "button",
    { type: "button", hidden: true, data: { tool: "guidelines" } },
    t("guidelines.title"),
  );
  loadGuidelines().then((drawn) => {
    if (!drawn) return;
    open.hidden = false;
    open.addEventListener("click", () => showGuidelines(drawn));
  });
  return [
    link(findAddress(layer), { class: "button" }, t("find.link")),
    link(timesAddress(layer), { class: "button" }, t("times.link")),
    open,
  ];
}
