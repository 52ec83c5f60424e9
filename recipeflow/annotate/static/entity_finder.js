// Type-ahead: an entity is found by the beginning of its text, and chosen with Enter.

import { element } from "/shared/dom.js";
import { foldText } from "/shared/kana.js";

import { entityText } from "./describe.js";
import { t } from "./language.js";

/** @import { AnnotatedDocument } from "./types.js" */

export class EntityFinder {
  /**
   * `getView()` gives the document, `onLook(id)` is called with the entity that was found (null for none) and
   * `onChoose(id)` with the one that was chosen.
   *
   * @param {{ getView: () => AnnotatedDocument, onLook: (id: string | null) => void, onChoose: (id: string) => void }} handlers
   */
  constructor({ getView, onLook, onChoose }) {
    this.getView = getView;
    this.onLook = onLook;
    this.onChoose = onChoose;
    this.at = 0;
    this.input = element("input", {
      type: "search",
      class: "entity-finder",
      placeholder: t("flows.find"),
      "aria-label": t("flows.find"),
      data: { key: "finder" },
    });
    this.input.addEventListener("input", () => this.look(0));
    this.input.addEventListener("keydown", (event) => this.onKey(event));
    this.input.addEventListener("blur", () => this.onLook(null));
  }

  open() {
    this.input.value = "";
    this.input.focus();
  }

  /** The entities that match: first those that begin with what was typed. */
  get found() {
    const wanted = foldText(this.input.value.trim());
    if (!wanted) return [];
    const view = this.getView();
    const texts = view.entities.map(({ id }) => ({ id, text: foldText(entityText(view, id)) }));
    const first = texts.filter(({ text }) => text.startsWith(wanted));
    const rest = texts.filter(({ text }) => !text.startsWith(wanted) && text.includes(wanted));
    return [...first, ...rest].map(({ id }) => id);
  }

  look(at) {
    const { found } = this;
    this.at = found.length ? (at + found.length) % found.length : 0;
    this.onLook(found[this.at] ?? null);
  }

  onKey(event) {
    if (event.isComposing) return; // Enter ends the conversion of kana
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = event.key === "Enter" ? this.found[this.at] : undefined;
    if (step) this.look(this.at + step);
    else if (event.key === "Escape") this.input.blur();
    else if (chosen) {
      this.input.blur();
      this.onChoose(chosen);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
