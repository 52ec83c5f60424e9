// Step 1: words get tags. Click a word or drag over several, then choose one.

import { element, findAll, replaceContent } from "/shared/dom.js";
import { recipeText, refreshText } from "/shared/words.js";

import { wordsText } from "./describe.js";
import { t, tagName } from "./language.js";
import { noteLook, noteTools, toggleUnsure } from "./note_tools.js";
import { placeBeside } from "./shell.js";
import { openSuggestions } from "./suggestions.js";
import { divisionTools, focusGap, moveGap } from "./word_division.js";
import { WordSelection } from "./word_selection.js";

/** @import { Span } from "/shared/types.js" */
/** @import { Editor } from "./editor.js" */
/** @import { AnnotatedDocument, AnnotatedEntity, Suggestion } from "./types.js" */

/** The keys of the tags, in order; a corpus with more tags has buttons without a key. */
const TAG_KEYS = "1234567890";

export class WordsStep {
  /** @type {AnnotatedDocument} */
  view;
  /** @type {AnnotatedDocument} */
  shown;
  /** @type {Suggestion[]} */
  suggested = [];

  /** @param {Editor} editor */
  constructor(editor) {
    this.session = editor.session;
    this.tags = Object.keys(editor.app.server.tags);
    this.text = element("div", {
      class: "word-host",
      tabindex: 0,
      role: "group",
      "aria-label": t("words.hint"),
      data: { key: "text" },
    });
    this.floating = element("div", {
      class: "floating panel",
      role: "toolbar",
      "aria-label": t("words.tags"),
      hidden: true,
    });
    this.scroller = element("div", { class: "text-scroller panel" }, this.text, this.floating);
    this.main = element("div", { class: "step-main" }, this.scroller);
    this.said = element("p", { class: "selection-said", "aria-live": "polite" });
    this.tools = element("div", { class: "word-tools row tight" });
    this.buttons = new Map(this.tags.map((tag, i) => [tag, this.tagButton(tag, TAG_KEYS[i])]));
    this.side = element(
      "section",
      { class: "stack" },
      element("h2", {}, t("words.tags")),
      this.said,
      element("div", { class: "tag-palette" }, [...this.buttons.values()]),
      this.tools,
    );
    this.selection = new WordSelection(
      this.text,
      () => this.shown,
      () => this.drawSelection(),
    );
  }

  tagButton(id, key) {
    return element(
      "button",
      {
        type: "button",
        class: "tag-choice",
        data: { tag: id, key: `tag ${id}` },
        on: { click: () => this.choose(id) },
      },
      element("kbd", { "aria-hidden": "true" }, key),
      element("span", { class: `tag-sample tag-${id}` }, id),
      element("span", { class: "tag-name" }, tagName(id)),
      element("span", { class: "tag-count", "aria-hidden": "true" }),
    );
  }

  /** @param {AnnotatedDocument} view */
  update(view) {
    this.view = view;
    this.suggested = openSuggestions(view, "entity").filter(
      ({ item }) => !view.entities.some((entity) => touches(entity, item)),
    );
    const extra = this.suggested.map(({ item, origin }) => ({ ...item, suggestedBy: origin }));
    this.shown = { ...view, entities: [...view.entities, ...extra] };
    const notes = new Map(view.notes.map((note) => [note.target, note]));
    const look = (entity) => withNote(entityLook(entity), entity.suggestedBy ? null : notes.get(`ne:${entity.id}`));
    const options = { heading: (name) => t(`section.${name}`), entityProps: look };
    if (this.text.firstChild) refreshText(this.text, this.shown, options);
    else this.text.append(recipeText(this.shown, options));
    this.selection.afterDrawing();
    for (const [id, button] of this.buttons) {
      const count = view.entities.filter((entity) => entity.tag === id).length;
      for (const place of findAll(button, ".tag-count")) place.textContent = count ? String(count) : "";
    }
    this.drawSelection();
  }

  /**
   * The entity that holds the whole selection.
   *
   * @returns {AnnotatedEntity | null}
   */
  get covering() {
    const range = this.selection.range;
    if (!range) return null;
    return (
      this.view.entities.find(
        (e) => e.section === range.section && e.line === range.line && e.start <= range.start && range.end <= e.end,
      ) ?? null
    );
  }

  drawSelection() {
    const range = this.selection.range;
    const entity = this.covering;
    const text = range ? wordsText(this.view, range) : "";
    const name = entity && isExactly(entity, range) ? tagName(entity.tag) : null;
    replaceContent(
      this.said,
      !range ? t("words.hint") : name ? t("words.tagged", { text, tag: name }) : t("words.selected", { text }),
    );
    for (const [id, button] of this.buttons) {
      button.disabled = !range;
      button.setAttribute("aria-pressed", String(Boolean(name) && entity?.tag === id));
    }
    replaceContent(this.tools, this.toolButtons());
    this.drawFloating();
  }

  drawFloating() {
    const box = this.selection.asked ? this.selection.box() : null;
    this.floating.hidden = !box;
    if (!box) return;
    const choices = this.tags.map((id, i) =>
      element(
        "button",
        {
          type: "button",
          class: `tag-quick tag-${id}`,
          title: tagName(id),
          data: { tag: id },
          on: { click: () => this.choose(id) },
        },
        id,
        element("small", {}, TAG_KEYS[i]),
      ),
    );
    replaceContent(
      this.floating,
      element("div", { class: "quick-tags" }, choices),
      element("div", { class: "row tight" }, this.toolButtons()),
    );
    placeBeside(this.floating, this.scroller, box);
  }

  toolButtons() {
    const range = this.selection.range;
    const entity = this.covering;
    const suggestion = range && this.suggested?.find(({ item }) => isExactly(item, range));
    const button = (name, act) =>
      element(
        "button",
        { type: "button", class: "small", data: { tool: name }, on: { click: act } },
        t(`words.${name}`),
      );
    if (!range) return [];
    if (suggestion) return this.suggestionButtons(suggestion);
    const handlers = { onCut: (at) => this.cut(at), onJoin: () => this.join() };
    const division = divisionTools(this.view, range, handlers);
    if (!entity) return division;
    if (isExactly(entity, range))
      return [button("remove", () => this.remove()), division, noteTools(this.session, `ne:${entity.id}`)];
    return [button("split", () => this.split()), button("shrink", () => this.shrink()), division];
  }

  /** Divide the selected word after `at` characters; its first part stays selected. */
  cut(at) {
    const { range } = this.selection;
    if (!range) return;
    const { section, line, start } = range;
    this.session.do({ op: "cut", section, line, word: start, at });
  }

  join() {
    const { range } = this.selection;
    if (!range || range.end - range.start < 2) return;
    const { section, line, start, end } = range;
    this.selection.set({ section, line, start, end: start + 1 }, true);
    this.session.do({ op: "join", section, line, start, end });
  }

  suggestionButtons({ key, kind, item, origin }) {
    const accept = () => this.session.do({ op: "accept", origin, items: [{ key, kind, item }], replace: false });
    const reject = () => this.session.do({ op: "reject", origin, keys: [key] });
    return [
      element(
        "button",
        { type: "button", class: "small", on: { click: accept } },
        `${t("suggest.accept")}: ${item.tag}`,
      ),
      element("button", { type: "button", class: "small", on: { click: reject } }, t("suggest.reject")),
      element("span", { class: "origin" }, origin),
    ];
  }

  /**
   * Give the selection a tag: a whole entity is re-tagged, a part of one is cut out of it, other words become a new
   * one.
   */
  choose(tag) {
    const range = this.selection.range;
    const entity = this.covering;
    if (!range) return;
    this.selection.settle();
    if (entity && isExactly(entity, range)) {
      if (entity.tag !== tag) this.session.do({ op: "retag", entity: entity.id, tag });
      else this.drawSelection();
    } else if (entity) this.cutOut(entity, range, tag);
    else this.session.do({ op: "tag", ...range, tag });
  }

  cutOut(entity, { section, line, start, end }, tag) {
    const part = `${section}-${line}-${start}`;
    if (start > entity.start) this.session.do({ op: "split", entity: entity.id, at: start, tag });
    if (end < entity.end) this.session.do({ op: "split", entity: part, at: end, tag: entity.tag });
    if (start === entity.start && tag !== entity.tag) this.session.do({ op: "retag", entity: entity.id, tag });
  }

  remove() {
    const entity = this.covering;
    if (!entity) return;
    this.selection.settle();
    this.session.do({ op: "remove", entity: entity.id });
  }

  split() {
    const entity = this.covering;
    const range = this.selection.range;
    if (!entity || !range || isExactly(entity, range)) return;
    this.selection.settle();
    this.session.do({ op: "split", entity: entity.id, at: range.start > entity.start ? range.start : range.end });
  }

  shrink() {
    const entity = this.covering;
    const range = this.selection.range;
    if (!entity || !range) return;
    this.selection.settle();
    this.session.do({ op: "reshape", entity: entity.id, start: range.start, end: range.end });
  }

  /** Select the entity that a link leads to. */
  goTo(at) {
    const [section, line, word] = at.split("-").map(Number);
    if (this.view.sections[section]?.lines[line]?.words[word]) this.selection.reveal({ section, line, word });
  }

  onKey(event) {
    const tag = this.tags[TAG_KEYS.indexOf(event.key)];
    if (tag) return (this.choose(tag), true);
    if (event.key === "Delete" || event.key === "Backspace") return (this.remove(), true);
    if (event.key === "s" || event.key === "S") return (this.split(), true);
    if (event.key === "c" || event.key === "C")
      return (focusGap(this.floating.hidden ? this.tools : this.floating), true);
    if (event.key === "m" || event.key === "M") return (this.join(), true);
    if ((event.key === "u" || event.key === "U") && this.covering)
      return (toggleUnsure(this.session, `ne:${this.covering.id}`), true);
    if (event.key === "Escape") return (this.selection.clear(), true);
    return moveGap(event) || this.selection.onKey(event);
  }

  close() {
    this.selection.close();
  }
}

/** @type {(one: Span, other: Span) => boolean} */
function touches(one, other) {
  return one.section === other.section && one.line === other.line && one.start < other.end && other.start < one.end;
}

/** @type {(entity: Span, range: Span | null) => boolean} */
function isExactly(entity, range) {
  return range !== null && touches(entity, range) && entity.start === range.start && entity.end === range.end;
}

/** A look with a note's added to it. */
function withNote(look, note) {
  if (!note) return look;
  const { title, ...noted } = noteLook(note, look.class);
  return { ...noted, title: [look.title, title].filter(Boolean).join(" · ") };
}

/** What is suggested, on its way or accepted from a suggestion looks it; the title says whose it was. */
function entityLook({ suggestedBy, pending, origin }) {
  if (suggestedBy) return { class: "suggested", title: suggestedBy };
  if (pending) return { class: "pending", title: t("pending") };
  if (origin === "release") return { title: t("origin.release") };
  return origin ? { class: "accepted", title: t("origin.other", { origin }) } : {};
}
