// The part of a prediction that is about notes: they follow what they are about, and go when that goes.

/** @import { AnnotatedDocument, AnnotatedFlow, Note, Predictions } from "./types.js" */

const KINDS = ["ne", "fg", "im"];
const LONGEST = 1000;

/** @type {Predictions} */
export const NOTE_PREDICTIONS = {
  note(doc, { target, unsure, text }) {
    const rest = doc.notes.filter((note) => note.target !== target);
    const written = { target, unsure, text: text.trim() };
    doc.notes = inOrder(written.unsure || written.text ? [...rest, written] : rest);
  },
};

/**
 * What a note on a flow is kept under.
 *
 * @param {{ start: string, end: string, label: string }} flow
 */
export function flowTarget({ start, end, label }) {
  return `fg:${start}>${end}:${label}`;
}

/**
 * Let notes follow entities that got other names; where two come together, both are kept.
 *
 * @param {AnnotatedDocument} doc
 * @param {Map<string, string>} names
 */
export function renameNotes(doc, names) {
  const rename = (found) => names.get(found) ?? found;
  moveNotes(doc, (target) => {
    const [head, ...label] = target.startsWith("fg:") ? splitFlow(target) : [target];
    return [head.replace(/\d+-\d+-\d+/g, rename), ...label].join("");
  });
}

/** Ids and label of a flow's target: a label may look like an id. */
function splitFlow(target) {
  const at = target.indexOf(":", 3);
  return [target.slice(0, at), target.slice(at)];
}

/** @type {(doc: AnnotatedDocument, rename: (target: string) => string) => void} */
export function moveNotes(doc, rename) {
  /** @type {Map<string, Note>} */
  const kept = new Map();
  for (const note of doc.notes) {
    const target = rename(note.target);
    const other = kept.get(target);
    const texts = new Set([other?.text, note.text].filter(Boolean));
    const text = [...[...texts].join(" / ")].slice(0, LONGEST).join("");
    kept.set(target, { target, unsure: note.unsure || (other?.unsure ?? false), text });
  }
  doc.notes = inOrder([...kept.values()]);
}

/**
 * Drop notes on what is no longer there.
 *
 * @param {AnnotatedDocument} doc
 */
export function pruneNotes(doc) {
  if (!doc.notes.length) return;
  const flows = new Set(doc.flows.map(flowTarget));
  const known = new Set(doc.entities.map((entity) => entity.id));
  doc.notes = doc.notes.filter(({ target }) => {
    if (target.startsWith("fg:")) return flows.has(target);
    const ids = target.match(/\d+-\d+-\d+/g) ?? [];
    return new Set(ids).size === ids.length && ids.every((id) => known.has(id));
  });
}

/** @type {(notes: Note[]) => Note[]} */
function inOrder(notes) {
  const keys = new Map(notes.map((note) => [note, orderOf(note)]));
  return notes.toSorted((a, b) => compare(keys.get(a) ?? [], keys.get(b) ?? []) || (a.target < b.target ? -1 : 1));
}

/** @param {Note} note */
function orderOf({ target }) {
  const ids = target.match(/\d+-\d+-\d+/g) ?? [];
  return [KINDS.indexOf(target.slice(0, 2)), ...ids.flatMap((id) => id.split("-").map(Number))];
}

function compare(one, other) {
  for (let at = 0; at < Math.min(one.length, other.length); at += 1)
    if (one[at] !== other[at]) return one[at] - other[at];
  return one.length - other.length;
}
