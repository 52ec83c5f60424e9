// What frames every page: the bar at the top, dialogs, and short notices.

import { element, findAll, replaceContent } from "/shared/dom.js";

import { language, setLanguage, t } from "./language.js";
import { whenReleased } from "./pressing.js";

/** @import { Box, Children } from "/shared/types.js" */
/** @import { App } from "./types.js" */

/**
 * The bar at the top: three groups of elements, and the switch of languages.
 *
 * @param {App} app
 * @param {{ left?: Children[], middle?: Children[], right?: Children[] }} groups
 */
export function topBar(app, { left = [], middle = [], right = [] }) {
  const other = language() === "en" ? "ja" : "en";
  const change = () => {
    setLanguage(other);
    app.page?.close();
    app.page = null;
    app.restart();
  };
  const button = element(
    "button",
    { type: "button", class: "quiet language", lang: other, title: t("language.switch.long"), on: { click: change } },
    t("language.switch"),
  );
  return element(
    "header",
    { class: "top-bar" },
    element("div", { class: "bar-left" }, left),
    element("div", { class: "bar-middle" }, middle),
    element("div", { class: "bar-right" }, right, button),
  );
}

/** An arrow back in a link, which a reader hears as the name of the list of recipes. */
export function backLink(anchor) {
  anchor.append("←", element("span", { class: "visually-hidden" }, t("back.recipes")));
  return anchor;
}

/**
 * A choice among the annotators that may be seen.
 *
 * @type {(app: App, layer: string, onChange: (name: string) => void) => HTMLElement}
 */
export function layerChoice(app, layer, onChange) {
  const options = app.server.layers.map(({ name, kind }) =>
    element("option", { value: name, selected: name === layer }, kind === "gold" ? t("recipes.gold") : name),
  );
  const select = element("select", { id: "annotator" }, options);
  select.addEventListener("change", () => onChange(select.value));
  return element("label", { class: "row tight", for: "annotator" }, t("recipes.who"), select);
}

/** A modal window with a title and a button that closes it; it goes away for good when closed. */
export function openDialog(title, ...content) {
  const close = element("button", { type: "button", class: "quiet", on: { click: () => dialog.close() } }, t("close"));
  const heading = element("div", { class: "dialog-head" }, element("h2", {}, title), close);
  const dialog = element("dialog", { "aria-label": title }, heading, content);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

const READING_TIME = { plain: 12_000, bad: 30_000 };

/** The place where notices appear: read out, the newest at the bottom, each gone after a while or at a click. */
export class Notices {
  constructor() {
    this.element = element("div", { class: "notices", role: "status", "aria-live": "polite" });
  }

  /** @type {(text: string, kind?: "plain" | "bad") => void} */
  show(text, kind = "plain") {
    const remove = () => notice.remove();
    const props = { type: "button", class: "quiet", "aria-label": t("close"), on: { click: remove } };
    const notice = element("div", { class: `notice ${kind}` }, element("p", {}, text), element("button", props, "×"));
    whenReleased(() => this.element.append(notice)); // in the page's flow it would move what is being pressed
    setTimeout(remove, READING_TIME[kind]);
  }
}

/**
 * Draw again inside `root` and leave the focus on the element that stands for the same thing (the same `data-key`).
 *
 * @param {HTMLElement} root
 * @param {() => void} draw
 */
export function keepFocus(root, draw) {
  const focused = focusedElement();
  const key = focused && root.contains(focused) ? focused.dataset.key : null;
  draw();
  if (key) findAll(root, `[data-key="${CSS.escape(key)}"]`)[0]?.focus({ preventScroll: true });
}

/** The element that has the keyboard. */
export function focusedElement() {
  return document.activeElement instanceof HTMLElement ? document.activeElement : null;
}

/**
 * Put a small panel below `box` (in pixels of the window), or above it where there is no room, within its scrolling
 * parent.
 *
 * @param {HTMLElement} panel
 * @param {HTMLElement} scroller
 * @param {Omit<Box, "right">} box
 */
export function placeBeside(panel, scroller, box) {
  const space = scroller.getBoundingClientRect();
  const left = Math.min(box.left - space.left, space.width - panel.offsetWidth - 24);
  const below = box.bottom - space.top + 10;
  const above = box.top - space.top - panel.offsetHeight - 10;
  const fits = below + panel.offsetHeight < space.height;
  panel.style.left = `${Math.max(left, 8)}px`;
  panel.style.top = `${scroller.scrollTop + (fits ? below : Math.max(above, 8))}px`;
}

/** Whether a key press belongs to a field or a dialog and not to the page. */
export function isTyping(event) {
  return event.target.closest?.("input, select, textarea, dialog") !== null;
}
