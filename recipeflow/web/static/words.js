// A recipe's lines as words, with its entities as coloured spans. Used for reading and for annotating alike.

import { element, findAll } from "./dom.js";

/** @import { Box, Entity, Line, Props, TextView, Word } from "./types.js" */

/**
 * @typedef {object} TextOptions
 * @property {(name: string) => string} [heading] Names a section.
 * @property {(entity: any) => Props} [entityProps] More properties of an entity's span: tab stop, role, state classes.
 * @property {(section: number, line: number) => Node | null} [lineExtra] An element to set at the end of a line.
 */

/**
 * The text of a recipe: one part per section, one paragraph per line, one span per word.
 *
 * Every word carries `data-word`, every entity `data-entity` and `data-tag`, so that a page can listen on the whole
 * text and know what was meant.
 *
 * @param {TextView} view
 * @param {TextOptions} options
 */
export function recipeText(view, options = {}) {
  // A corpus of instructions has no ingredient list: its heading would stand over nothing.
  const parts = view.sections.map(
    (section, number) =>
      section.lines.length > 0 &&
      element(
        "section",
        { class: `text-section text-${section.name}` },
        element("h3", {}, options.heading ? options.heading(section.name) : section.name),
        section.lines.map((line, row) => textLine(view, number, row, line, options)),
      ),
  );
  const alone = parts.filter(Boolean).length === 1 ? "one-section" : "";
  return element("div", { class: `recipe-text ${alone}`.trim(), lang: view.language ?? "ja" }, parts);
}

/**
 * Bring a drawn text up to date with `view`: only lines whose words or entities changed are drawn again. The lines must
 * be the same.
 *
 * @param {Element} text
 * @param {TextView} view
 * @param {TextOptions} options
 */
export function refreshText(text, view, options = {}) {
  for (const drawn of findAll(text, ".text-line")) {
    const [section, row] = [Number(drawn.dataset.section), Number(drawn.dataset.line)];
    if (drawn.dataset.stamp !== lineStamp(view, section, row, options)) {
      drawn.replaceWith(textLine(view, section, row, view.sections[section].lines[row], options));
    }
  }
}

/** @type {(view: TextView, section: number, row: number) => Entity[]} */
function entitiesOfLine(view, section, row) {
  return view.entities.filter((entity) => entity.section === section && entity.line === row);
}

/**
 * All that decides how a line looks.
 *
 * @type {(view: TextView, section: number, row: number, options: TextOptions) => string}
 */
function lineStamp(view, section, row, options) {
  const looks = entitiesOfLine(view, section, row).map((entity) => [
    entity.id,
    entity.end,
    entity.tag,
    options.entityProps?.(entity),
  ]);
  return JSON.stringify([view.sections[section].lines[row].words.map((word) => word.end), looks]);
}

/** @type {(view: TextView, section: number, row: number, line: Line, options: TextOptions) => HTMLElement} */
function textLine(view, section, row, line, options) {
  const starts = new Map(entitiesOfLine(view, section, row).map((entity) => [entity.start, entity]));
  const spans = [];
  for (let at = 0; at < line.words.length;) {
    const entity = starts.get(at);
    if (at > 0) spans.push(gap(line.words[at - 1], line.words[at]));
    if (entity) spans.push(entitySpan(entity, line.words.slice(entity.start, entity.end), options));
    else spans.push(wordSpan(line.words[at]));
    at = entity ? Math.max(entity.end, at + 1) : at + 1;
  }
  const extra = options.lineExtra ? options.lineExtra(section, row) : null;
  const stamp = lineStamp(view, section, row, options);
  return element("p", { class: "text-line", data: { section, line: row, stamp } }, spans, extra);
}

/** @type {(entity: Entity, words: Word[], options: TextOptions) => HTMLElement} */
function entitySpan(entity, words, options) {
  const { class: more = "", data = {}, ...props } = options.entityProps ? options.entityProps(entity) : {};
  return element(
    "span",
    { class: `entity tag-${entity.tag} ${more}`, data: { entity: entity.id, tag: entity.tag, ...data }, ...props },
    words.map((word, i) => [i > 0 && gap(words[i - 1], word), wordSpan(word)]),
    element("span", { class: "tag-badge", "aria-hidden": "true" }, entity.tag),
  );
}

/**
 * What is between two words: a space where the language has one.
 *
 * @type {(before: Word, after: Word) => string}
 */
function gap(before, after) {
  return after.start > before.end ? " " : "";
}

/** @type {(word: Word) => HTMLElement} */
function wordSpan(word) {
  return element(
    "span",
    { class: word.text === null ? "word textless" : "word", data: { word: word.id } },
    shownWord(word),
  );
}

/**
 * A word's text; where the release has none, one box per character, so that lengths still show.
 *
 * @param {Word} word
 */
export function shownWord(word) {
  return word.text === null ? "▯".repeat(Math.max(word.end - word.start, 1)) : word.text;
}

/**
 * Words as text, with the spaces between them.
 *
 * @param {Word[]} words
 */
export function shownWords(words) {
  return words.map((word, i) => (i > 0 ? gap(words[i - 1], word) : "") + shownWord(word)).join("");
}

/**
 * An entity's text, made of its words; boxes where there is none.
 *
 * @param {TextView} view
 * @param {Entity} entity
 */
export function shownEntity(view, entity) {
  const words = view.sections[entity.section].lines[entity.line].words.slice(entity.start, entity.end);
  return shownWords(words);
}

/**
 * Where every entity of `host` stands, in pixels from the top left of `host`; the first row of one that wraps.
 *
 * @param {HTMLElement} host
 * @returns {Map<string, Box>}
 */
export function measureEntities(host) {
  const origin = host.getBoundingClientRect();
  const places = new Map();
  for (const span of findAll(host, "[data-entity]")) {
    const box = span.getClientRects()[0];
    if (!box) continue;
    const left = box.left - origin.left + host.scrollLeft;
    const top = box.top - origin.top + host.scrollTop;
    places.set(span.dataset.entity ?? "", { left, top, right: left + box.width, bottom: top + box.height });
  }
  return places;
}
