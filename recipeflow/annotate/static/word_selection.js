// A run of words within one line, chosen by click, drag or arrow keys. It snaps to words, and to whole entities where
// it leaves one.

/** @import { Span, TextView } from "/shared/types.js" */
/** @typedef {{ section: number, line: number, word: number }} Place */

export class WordSelection {
  /**
   * `host` holds the text, `getView()` gives the document that is drawn in it, `onChange()` is called after every
   * change.
   *
   * @param {HTMLElement} host
   * @param {() => TextView} getView
   * @param {() => void} onChange
   */
  constructor(host, getView, onChange) {
    this.host = host;
    this.getView = getView;
    this.onChange = onChange;
    /** @type {Span | null} */
    this.range = null;
    /** @type {Span | null} */
    this.before = null;
    this.moved = false;
    this.asked = false; // whether the choice of tags belongs beside the selection
    /** @type {Place | null} */
    this.anchor = null;
    /** @type {HTMLElement[]} */
    this.marked = [];
    /** @type {Map<string, HTMLElement>} */
    this.words = new Map();
    host.addEventListener("pointerdown", (event) => this.begin(event));
    host.addEventListener("pointerover", (event) => this.stretch(event));
    this.end = () => this.finish();
    window.addEventListener("pointerup", this.end);
  }

  close() {
    window.removeEventListener("pointerup", this.end);
  }

  /** The text was drawn again: find the words and mark them. */
  afterDrawing() {
    /** @type {NodeListOf<HTMLElement>} */
    const spans = this.host.querySelectorAll("[data-word]");
    this.words = new Map([...spans].map((span) => [span.dataset.word ?? "", span]));
    this.mark();
  }

  /** The choice was made: the selection stays, the question goes. */
  settle() {
    this.asked = false;
  }

  clear() {
    this.set(null, false);
  }

  begin(event) {
    const place = placeOf(event.target);
    if (!place || event.button !== 0) {
      if (event.button === 0) this.clear();
      return;
    }
    event.target.releasePointerCapture?.(event.pointerId);
    this.before = this.asked ? this.range : null;
    this.anchor = place;
    this.moved = false;
    this.set(this.entityAt(place) ?? oneWord(place), false);
  }

  stretch(event) {
    const place = placeOf(event.target);
    if (!this.anchor || !place || place.section !== this.anchor.section || place.line !== this.anchor.line) return;
    if (!this.moved && place.word === this.anchor.word) return;
    this.moved = true;
    const [start, end] = [Math.min(place.word, this.anchor.word), Math.max(place.word, this.anchor.word) + 1];
    this.set(this.snap({ section: place.section, line: place.line, start, end }), false);
  }

  finish() {
    if (!this.anchor) return;
    const place = this.anchor;
    this.anchor = null;
    // A second click inside a chosen entity means the one word: that is where it can be split.
    const again =
      !this.moved &&
      this.before &&
      this.range &&
      sameRange(this.before, this.range) &&
      this.range.end - this.range.start > 1;
    this.set(again ? oneWord(place) : this.range, true);
  }

  onKey(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && event.shiftKey) return (this.stretchBy(step), true);
    if (step) return (this.moveBy(step), true);
    const row = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (row) return (this.moveRow(row), true);
    return false;
  }

  /** The neighbouring unit in reading order, over the ends of lines: an entity, or a word outside of one. */
  moveBy(step) {
    const places = [...this.words.keys()].map(readPlace);
    if (!places.length) return;
    const { range } = this;
    const outermost = range && (step > 0 ? range.end - 1 : range.start);
    const at = range
      ? places.findIndex((p) => p.section === range.section && p.line === range.line && p.word === outermost)
      : step > 0
        ? -1
        : places.length;
    const place = places[at + step];
    if (place) this.reveal(place);
  }

  moveRow(step) {
    const lines = [...new Set([...this.words.keys()].map((id) => id.split("-").slice(0, 2).join("-")))];
    const at = this.range ? lines.indexOf(`${this.range.section}-${this.range.line}`) : step > 0 ? -1 : lines.length;
    const line = lines[at + step];
    if (line === undefined) return;
    const [section, row] = line.split("-").map(Number);
    const count = this.getView().sections[section].lines[row].words.length;
    this.reveal({ section, line: row, word: Math.min(this.range?.start ?? 0, count - 1) });
  }

  stretchBy(step) {
    if (!this.range) return this.moveBy(step);
    const count = this.getView().sections[this.range.section].lines[this.range.line].words.length;
    const end = Math.max(this.range.start + 1, Math.min(this.range.end + step, count));
    const wanted = { ...this.range, end };
    // Going back over an entity lets go of all of it; otherwise it would snap in again at once.
    const snapped = this.snap(wanted);
    const stuck = step < 0 && snapped.end === this.range.end && snapped.start === this.range.start;
    return this.set(stuck ? this.withoutLast(wanted) : snapped, true);
  }

  withoutLast(range) {
    const crossed = this.entities(range).find((entity) => entity.end > range.end && entity.start > range.start);
    return crossed ? { ...range, end: crossed.start } : range;
  }

  reveal(place) {
    this.set(this.entityAt(place) ?? oneWord(place), true);
    this.words.get(`${place.section}-${place.line}-${place.word}`)?.scrollIntoView({ block: "nearest" });
  }

  /** @type {(range: Span | null, asked: boolean) => void} */
  set(range, asked) {
    this.range = range;
    this.asked = asked && range !== null;
    this.mark();
    this.onChange();
  }

  mark() {
    for (const span of this.marked) span.classList.remove("chosen");
    this.marked = [];
    if (!this.range) return;
    for (let word = this.range.start; word < this.range.end; word += 1) {
      const span = this.words.get(`${this.range.section}-${this.range.line}-${word}`);
      if (span) this.marked.push(span);
    }
    for (const span of this.marked) span.classList.add("chosen");
  }

  /** Where the selection is on the screen. */
  box() {
    const first = this.marked[0]?.getBoundingClientRect();
    const last = this.marked.at(-1)?.getBoundingClientRect();
    if (!first || !last) return null;
    return { left: Math.min(first.left, last.left), top: first.top, bottom: last.bottom };
  }

  entities({ section, line }) {
    return this.getView().entities.filter((entity) => entity.section === section && entity.line === line);
  }

  /** @type {(place: Place) => Span | null} */
  entityAt(place) {
    const found = this.entities(place).find((entity) => entity.start <= place.word && place.word < entity.end);
    return found ? { section: found.section, line: found.line, start: found.start, end: found.end } : null;
  }

  /**
   * Within one entity a run stays as it is; one that reaches beyond an entity takes it in whole.
   *
   * @param {Span} range
   * @returns {Span}
   */
  snap(range) {
    const crossed = this.entities(range).filter((entity) => entity.start < range.end && range.start < entity.end);
    if (crossed.length === 1 && crossed[0].start <= range.start && range.end <= crossed[0].end) return range;
    const start = Math.min(range.start, ...crossed.map((entity) => entity.start));
    const end = Math.max(range.end, ...crossed.map((entity) => entity.end));
    return { ...range, start, end };
  }
}

/** @type {(id: string) => Place} */
function readPlace(id) {
  const [section, line, word] = id.split("-").map(Number);
  return { section, line, word };
}

/** The word under the pointer; on an entity's badge, its last word. */
function placeOf(target) {
  const word =
    target.closest?.("[data-word]") ??
    [...(target.closest?.("[data-entity]")?.querySelectorAll("[data-word]") ?? [])].at(-1);
  return word ? readPlace(word.dataset.word) : null;
}

/** @type {(place: Place) => Span} */
function oneWord({ section, line, word }) {
  return { section, line, start: word, end: word + 1 };
}

function sameRange(one, other) {
  return (
    one.section === other.section && one.line === other.line && one.start === other.start && one.end === other.end
  );
}
