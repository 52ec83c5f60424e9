// Which words a click, a drag or a key chooses. The elements are stand-ins: what a browser does is tested in one.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { WordSelection } from "../../../recipeflow/annotate/static/word_selection.js";

/** A span of a word, which knows its classes and finds itself. */
class WordSpan {
  constructor(id) {
    this.dataset = { word: id };
    this.classes = new Set();
    this.classList = { add: (name) => this.classes.add(name), remove: (name) => this.classes.delete(name) };
  }
  closest(selector) {
    return selector === "[data-word]" ? this : null;
  }
  scrollIntoView() {}
}

const LINES = { "0-0": 3, "1-0": 8, "1-1": 4 };
const ENTITIES = [
  { section: 1, line: 0, start: 1, end: 3, tag: "F" },
  { section: 1, line: 0, start: 4, end: 6, tag: "Ac" },
];
let spans;
let selection;
let changes;

beforeEach(() => {
  globalThis.window = new EventTarget();
  const ids = Object.entries(LINES).flatMap(([line, count]) => Array.from({ length: count }, (_, i) => `${line}-${i}`));
  spans = new Map(ids.map((id) => [id, new WordSpan(id)]));
  const host = Object.assign(new EventTarget(), { querySelectorAll: () => [...spans.values()] });
  const lines = (section) =>
    Object.entries(LINES)
      .filter(([line]) => line.startsWith(`${section}-`))
      .map(([line, count]) => ({ words: Array.from({ length: count }, (_, i) => ({ id: `${line}-${i}` })) }));
  const view = { sections: [{ lines: lines(0) }, { lines: lines(1) }], entities: ENTITIES };
  changes = 0;
  selection = new WordSelection(host, () => view, () => (changes += 1));
  selection.afterDrawing();
});

const event = (type, id) => Object.defineProperty(Object.assign(new Event(type), { button: 0 }), "target", { value: spans.get(id) });
const press = (id) => selection.host.dispatchEvent(event("pointerdown", id));
const pass = (id) => selection.host.dispatchEvent(event("pointerover", id));
const release = () => window.dispatchEvent(new Event("pointerup"));
const key = (name, shiftKey = false) => selection.onKey({ key: name, shiftKey });
const click = (id) => {
  press(id);
  release();
};
const drag = (...ids) => {
  press(ids[0]);
  ids.slice(1).forEach(pass);
  release();
};
const chosen = () => [...spans].filter(([, span]) => span.classes.has("chosen")).map(([id]) => id);
const words = (line, ...numbers) => numbers.map((number) => `${line}-${number}`);

test("a click chooses a word, or the whole entity that it is in", () => {
  click("1-0-0");
  assert.deepEqual(chosen(), words("1-0", 0));
  assert.equal(selection.asked, true);
  click("1-0-2");
  assert.deepEqual(chosen(), words("1-0", 1, 2));
});

test("a second click inside a chosen entity means the one word", () => {
  click("1-0-2");
  click("1-0-2");
  assert.deepEqual(chosen(), words("1-0", 2));
  assert.deepEqual(selection.range, { section: 1, line: 0, start: 2, end: 3 });
});

test("a drag takes in whole every entity that it enters from outside", () => {
  drag("1-0-0", "1-0-1");
  assert.deepEqual(chosen(), words("1-0", 0, 1, 2));
  drag("1-0-5", "1-0-4", "1-0-3", "1-0-2");
  assert.deepEqual(chosen(), words("1-0", 1, 2, 3, 4, 5));
});

test("a drag inside one entity chooses only those words of it", () => {
  drag("1-0-4", "1-0-5", "1-0-4");
  assert.deepEqual(chosen(), words("1-0", 4));
});

test("a drag stays in its line", () => {
  drag("1-0-6", "1-0-7", "1-1-0", "0-0-0");
  assert.deepEqual(chosen(), words("1-0", 6, 7));
});

test("moving without a pressed button chooses nothing", () => {
  pass("1-0-6");
  release();
  assert.equal(selection.range, null);
  assert.equal(changes, 0);
});

test("arrows walk over words and entities, across the ends of lines", () => {
  key("ArrowRight");
  assert.deepEqual(chosen(), words("0-0", 0));
  for (const _ of [1, 2, 3]) key("ArrowRight");
  assert.deepEqual(chosen(), words("1-0", 0));
  key("ArrowRight");
  assert.deepEqual(chosen(), words("1-0", 1, 2));
  key("ArrowRight");
  assert.deepEqual(chosen(), words("1-0", 3));
  key("ArrowLeft");
  assert.deepEqual(chosen(), words("1-0", 1, 2));
  selection.clear();
  key("ArrowLeft");
  assert.deepEqual(chosen(), words("1-1", 3), "from nowhere, back goes to the end");
  key("ArrowRight");
  assert.deepEqual(chosen(), words("1-1", 3), "there is nothing behind the last word");
});

test("up and down go to the same place of the next line, as far as it has one", () => {
  click("1-0-7");
  key("ArrowDown");
  assert.deepEqual(chosen(), words("1-1", 3));
  key("ArrowUp");
  assert.deepEqual(chosen(), words("1-0", 3));
  key("ArrowUp");
  assert.deepEqual(chosen(), words("0-0", 2));
  key("ArrowUp");
  assert.deepEqual(chosen(), words("0-0", 2));
});

test("Shift and an arrow grow and shrink, over an entity in one step", () => {
  click("1-0-3");
  key("ArrowRight", true);
  assert.deepEqual(chosen(), words("1-0", 3, 4, 5));
  key("ArrowLeft", true);
  assert.deepEqual(chosen(), words("1-0", 3));
  key("ArrowLeft", true);
  assert.deepEqual(chosen(), words("1-0", 3), "one word stays");
});

test("other keys are left to the page", () => {
  assert.equal(key("x"), false);
  assert.equal(key("ArrowDown"), true);
});

test("after drawing again the same words are marked, and the question is gone once answered", () => {
  click("1-0-0");
  for (const id of spans.keys()) spans.set(id, new WordSpan(id));
  selection.afterDrawing();
  assert.deepEqual(chosen(), words("1-0", 0));
  selection.settle();
  assert.equal(selection.asked, false);
  assert.deepEqual(selection.range, { section: 1, line: 0, start: 0, end: 1 });
});

test("closed, it no longer listens to the window", () => {
  press("1-0-0");
  selection.close();
  const before = changes;
  release();
  assert.equal(changes, before);
});
