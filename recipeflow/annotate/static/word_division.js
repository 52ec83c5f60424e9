// Tools that correct where words begin and end: a place between two characters to cut a word at, and a button that
// joins several words.

import { element, findAll } from "/shared/dom.js";

import { t } from "./language.js";
import { canJoin } from "./predict_words.js";

/** @import { Span, TextView } from "/shared/types.js" */

/**
 * The tools for a selection: one long word can be cut, several words can be joined.
 *
 * @param {TextView} view
 * @param {Span} range
 * @param {{ onCut: (at: number) => void, onJoin: () => void }} handlers
 */
export function divisionTools(view, range, { onCut, onJoin }) {
  const words = view.sections[range.section]?.lines[range.line]?.words.slice(range.start, range.end) ?? [];
  if (words.length > 1 && !canJoin(words)) return [];
  if (words.length > 1) {
    const props = { type: "button", class: "small", data: { tool: "join" }, on: { click: onJoin } };
    return [element("button", props, t("words.join"), element("kbd", { "aria-hidden": "true" }, "M"))];
  }
  const [word] = words;
  if (!word || word.end - word.start < 2) return [];
  const letters = word.text === null ? "▯".repeat(word.end - word.start) : word.text;
  const pieces = [...letters].flatMap((letter, i) => [
    i ? gap(letters, i, onCut) : null,
    element("span", { lang: view.language }, letter),
  ]);
  const props = { class: "word-cut", role: "group", "aria-label": t("words.cut") };
  return [element("span", props, element("span", { class: "small soft" }, t("words.cut")), pieces)];
}

function gap(letters, at, onCut) {
  const label = t("words.cut.at", { before: [...letters].slice(0, at).join(""), after: [...letters].slice(at).join("") });
  const props = { type: "button", class: "gap", title: label, "aria-label": label, data: { cut: at } };
  return element("button", { ...props, on: { click: () => onCut(at) } }, "|");
}

/**
 * The key C: cut where only one place is possible, else go to the first place; arrow keys move between places.
 *
 * @param {HTMLElement} host
 */
export function focusGap(host) {
  const gaps = findAll(host, "[data-cut]");
  if (gaps.length === 1) gaps[0].click();
  else gaps[0]?.focus();
}

/** Whether an arrow key moved from one place between characters to the next. */
export function moveGap(event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const focused = document.activeElement;
  if (!step || !(focused instanceof HTMLElement) || !focused.dataset.cut || !focused.parentElement) return false;
  const gaps = findAll(focused.parentElement, "[data-cut]");
  gaps[gaps.indexOf(focused) + step]?.focus();
  return true;
}
