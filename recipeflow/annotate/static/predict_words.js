// The part of a prediction that is about words: a line divided otherwise, and the entities that keep their characters.

/** @import { Line, Word } from "/shared/types.js" */
/** @import { AnnotatedDocument, Division } from "./types.js" */

/**
 * Divide a line into words that end at `ends`. An entity that ends inside a new word takes in all of that word.
 *
 * @param {AnnotatedDocument} doc
 * @param {Division} division
 * @returns {Map<string, string> | null} The new ids of entities by the old ones; null if nothing could be changed.
 */
export function divideLine(doc, { section, line, ends }) {
  const old = lineEnds(doc, section, line);
  if (!old || String(old) === String(ends) || ends.at(-1) !== old.at(-1)) return null;
  const toStart = (word) => (word ? ends.filter((end) => end <= old[word - 1]).length : 0);
  const toEnd = (word) => ends.filter((end) => end < old[word - 1]).length + 1;
  const here = doc.entities.filter((entity) => entity.section === section && entity.line === line);
  const spans = here.map((entity) => ({ entity, start: toStart(entity.start), end: toEnd(entity.end) }));
  if (spans.some(({ start }, i) => i > 0 && start < spans[i - 1].end)) return null;
  const names = new Map();
  for (const { entity, start, end } of spans) {
    const id = `${section}-${line}-${start}`;
    names.set(entity.id, id);
    Object.assign(entity, { id, start, end, text: null });
  }
  const lines = doc.sections[section].lines;
  const divided = dividedLine(lines[line], section, line, ends);
  doc.sections = doc.sections.with(section, { ...doc.sections[section], lines: lines.with(line, divided) });
  // Their words are other ones now; the server's answer has them again.
  doc.suggestions = doc.suggestions.filter(({ item }) => !JSON.stringify(item).includes(`"${section}-${line}-`));
  return names;
}

/**
 * An item of an annotation that divides some lines otherwise (`words`), as it is in this document. `divide` is called
 * with a division in which an entity's ends are ends of words. Null if the document has no such place.
 *
 * @type {(doc: AnnotatedDocument, item: any, words: Division[], divide: (division: Division) => void) => any}
 */
export function takeOver(doc, item, words, divide) {
  const isOther = ({ section, line }) => words.some((each) => each.section === section && each.line === line);
  if ("tag" in item) {
    if (!isOther(item)) return item;
    const { section, line } = item;
    const [first, last] = characters(divisionOf(doc, words, section, line), item.start, item.end);
    const now = lineEnds(doc, section, line) ?? [];
    const ends = [...new Set([...now, first, last])].filter((end) => end > 0).sort((a, b) => a - b);
    divide({ section, line, ends });
    const start = ends.filter((end) => end <= first).length;
    return { ...item, start, end: ends.indexOf(last) + 1, id: `${section}-${line}-${start}` };
  }
  const here = { ...item };
  for (const part of ["start", "end", "action", "object"]) {
    if (typeof item[part] !== "string" || item[part].startsWith("?")) continue;
    const [section, line, word] = item[part].split("-").map(Number);
    if (!isOther({ section, line })) continue;
    const [first] = characters(divisionOf(doc, words, section, line), word, word + 1);
    const at = [0, ...(lineEnds(doc, section, line) ?? [])].indexOf(first);
    if (at < 0) return null;
    here[part] = `${section}-${line}-${at}`;
  }
  return here;
}

/** Where the words of a line end for whoever `words` belongs to: as here, unless it has the line. */
export function divisionOf(doc, words, section, line) {
  const other = words.find((each) => each.section === section && each.line === line);
  return other?.ends ?? lineEnds(doc, section, line) ?? [];
}

/** The first character of words `start` to `end`, and the one after the last. */
export function characters(ends, start, end) {
  return [start ? ends[start - 1] : 0, ends[end - 1]];
}

/** Where each word of a line ends, in characters; null if there is no such line. */
export function lineEnds(doc, section, line) {
  return doc.sections[section]?.lines[line]?.words.map((word) => word.end) ?? null;
}

/**
 * Where the words of a line end once the word `number` is divided after `at` of its characters.
 *
 * @type {(words: Word[], number: number, at: number) => number[]}
 */
export function endsAfterCut(words, number, at) {
  const ends = words.map((word) => word.end);
  const word = words[number];
  return word && 0 < at && at < word.end - word.start ? ends.toSpliced(number, 0, word.start + at) : ends;
}

/**
 * Where the words of a line end once words `start` to `end` are one; as before where a space is between them.
 *
 * @type {(words: Word[], start: number, end: number) => number[]}
 */
export function endsAfterJoin(words, start, end) {
  const ends = words.map((word) => word.end);
  return canJoin(words.slice(start, end)) ? ends.toSpliced(start, end - 1 - start) : ends;
}

/**
 * Whether words can be one word: several, without a space between them.
 *
 * @param {Word[]} words
 */
export function canJoin(words) {
  return words.length > 1 && words.every((word, i) => i === 0 || word.start === words[i - 1].end);
}

/**
 * The words of a line, none if there is no such line.
 *
 * @type {(doc: AnnotatedDocument, section: number, line: number) => Word[]}
 */
export function lineWords(doc, section, line) {
  return doc.sections[section]?.lines[line]?.words ?? [];
}

/** @type {(line: Line, section: number, number: number, ends: number[]) => Line} */
function dividedLine({ text, words: old }, section, number, ends) {
  const words = ends.map((end, i) => {
    const from = i ? ends[i - 1] : 0;
    // Behind the spaces that follow the word before it: the first character of any word from there on.
    const start = Math.max(from, old.find((word) => word.end > from)?.start ?? from);
    // In characters as the server counts them, not in halves of surrogate pairs.
    const own = text === null ? null : [...text].slice(start, end).join("");
    return { id: `${section}-${number}-${i}`, text: own, start, end };
  });
  return { text, words };
}
