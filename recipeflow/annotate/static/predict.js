// What the document will look like once the server has answered: shown at once, marked as pending, and replaced by the
// server's own answer. Nothing is decided here: what the server refuses, or finds by tracing the flows, comes with its
// answer. A test feeds the same operations to this and to the server.

import { NOTE_PREDICTIONS, flowTarget, moveNotes, pruneNotes, renameNotes } from "./predict_notes.js";
import { PAIR_PREDICTIONS, acceptPair, followActions, renamePairs } from "./predict_pairs.js";
import {
  characters,
  divideLine,
  divisionOf,
  endsAfterCut,
  endsAfterJoin,
  lineEnds,
  lineWords,
  takeOver,
} from "./predict_words.js";

/** @import { AnnotatedDocument, AnnotatedEntity, AnnotatedFlow, Division, Item, Operation, Predictions } from "./types.js" */
/** @import { Span } from "/shared/types.js" */

const STILL = ["id", "title", "url", "sections", "layer", "frames"];
const ORDER_OF_KINDS = ["entity", "flow", "image"];

/**
 * The document with all queued operations applied.
 *
 * @param {AnnotatedDocument} document
 * @param {Operation[]} operations
 * @returns {AnnotatedDocument}
 */
export function predict(document, operations) {
  const lasting = withoutUndone(operations);
  if (!lasting.length) return document;
  const changing = Object.entries(document).filter(([part]) => !STILL.includes(part));
  const copy = { ...document, ...structuredClone(Object.fromEntries(changing)) };
  for (const operation of lasting) {
    PREDICTIONS[operation.op]?.(copy, operation);
    pruneNotes(copy);
  }
  const ends = new Set(copy.flows.flatMap((flow) => [flow.start, flow.end]));
  copy.unconnected = copy.entities.map((entity) => entity.id).filter((id) => !ends.has(id));
  followActions(copy);
  return copy;
}

/** What is left of a queue when each undo and redo has met its operation. */
function withoutUndone(operations) {
  const lasting = [];
  const undone = [];
  for (const operation of operations) {
    if (operation.op === "undo") undone.push(...lasting.splice(-1));
    else if (operation.op === "redo") lasting.push(...undone.splice(-1));
    else lasting.push(operation);
  }
  return lasting;
}

/** @type {Predictions} */
const PREDICTIONS = {
  ...PAIR_PREDICTIONS,
  ...NOTE_PREDICTIONS,
  tag(doc, { section, line, start, end, tag }) {
    putEntity(doc, { section, line, start, end, tag }, null);
  },
  retag(doc, { entity, tag }) {
    for (const found of doc.entities)
      if (found.id === entity && found.tag !== tag) Object.assign(found, { tag, origin: null, pending: true });
  },
  retag_all(doc, { entities, tag }) {
    for (const entity of entities) PREDICTIONS.retag(doc, { entity, tag });
  },
  reshape(doc, { entity, start, end }) {
    const found = doc.entities.find((each) => each.id === entity);
    if (!found) return;
    const id = `${found.section}-${found.line}-${start}`;
    Object.assign(found, { id, start, end, text: null, origin: null, pending: true });
    doc.entities.sort(byPlace);
    rename(doc, new Map([[entity, id]]));
  },
  split(doc, { entity, at, tag }) {
    const first = doc.entities.find((each) => each.id === entity);
    if (!first || at <= first.start || at >= first.end) return;
    Object.assign(first, { text: null, origin: null, pending: true });
    const id = `${first.section}-${first.line}-${at}`;
    doc.entities.push({ ...first, id, start: at, tag: tag ?? first.tag });
    first.end = at;
    doc.entities.sort(byPlace);
  },
  remove(doc, { entity }) {
    doc.entities = doc.entities.filter((each) => each.id !== entity);
    doc.flows = doc.flows.filter((flow) => flow.start !== entity && flow.end !== entity);
    doc.objects = doc.objects.filter((pair) => pair.action !== entity && pair.object !== entity);
    doc.actions = doc.actions.filter(({ action }) => action !== entity);
  },
  cut(doc, { section, line, word, at }) {
    divide(doc, { section, line, ends: endsAfterCut(lineWords(doc, section, line), word, at) });
  },
  join(doc, { section, line, start, end }) {
    divide(doc, { section, line, ends: endsAfterJoin(lineWords(doc, section, line), start, end) });
  },
  flow(doc, { start, end, label }) {
    if (start === end || doc.flows.some((flow) => isFlow(flow, { start, end, label }))) return;
    doc.flows = withFlow(doc.flows, { start, end, label, origin: null, pending: true });
  },
  unflow(doc, gone) {
    doc.flows = doc.flows.filter((flow) => !isFlow(flow, gone));
  },
  relabel(doc, { start, end, label, to }) {
    const found = doc.flows.find((flow) => isFlow(flow, { start, end, label }));
    if (!found || label === to) return;
    const [old, now] = [flowTarget(found), flowTarget({ start, end, label: to })];
    Object.assign(found, { label: to, origin: null, pending: true });
    moveNotes(doc, (target) => (target === old ? now : target));
  },
  relabel_all(doc, { flows, to }) {
    for (const flow of flows) PREDICTIONS.relabel(doc, { ...flow, to });
  },
  done(doc, { step, done }) {
    doc.done = { ...doc.done, [step]: done };
  },
  accept(doc, { origin, items, replace, needed = [], words = [] }) {
    acceptItems(doc, needed, { origin, replace: false, words });
    acceptItems(doc, items, { origin, replace, words });
  },
  reject(doc, { origin, keys }) {
    settle(doc, origin, keys, "rejected");
  },
  reconsider(doc, { origin, keys }) {
    settle(doc, origin, keys, "pending");
  },
};

/** Divide a line otherwise, with everything that refers to its entities. */
function divide(doc, division) {
  const names = divideLine(doc, division);
  if (names) rename(doc, names);
}

/** @type {(doc: AnnotatedDocument, items: Item[], how: { origin: string, replace: boolean, words: Division[] }) => void} */
function acceptItems(doc, items, { origin, replace, words }) {
  const ranked = items.toSorted((a, b) => ORDER_OF_KINDS.indexOf(a.kind) - ORDER_OF_KINDS.indexOf(b.kind));
  for (const { key, kind, item } of ranked) {
    if (kind === "entity" && !(replace || isFree(doc, item, words))) continue;
    const here = takeOver(doc, item, words, (line) => divide(doc, line));
    const accept = { entity: acceptEntity, flow: acceptFlow, image: acceptPair }[kind];
    if (here && accept(doc, here, { key, origin, replace }))
      doc.suggestions = doc.suggestions.filter((suggestion) => suggestion.key !== key);
  }
}

/** Whether no entity has a character of an item's. */
function isFree(doc, { section, line, start, end }, words) {
  const [first, last] = characters(divisionOf(doc, words, section, line), start, end);
  const ends = lineEnds(doc, section, line) ?? [];
  return !doc.entities.some((entity) => {
    if (entity.section !== section || entity.line !== line) return false;
    const [from, to] = characters(ends, entity.start, entity.end);
    return from < last && first < to;
  });
}

function settle(doc, origin, keys, state) {
  for (const suggestion of doc.suggestions) {
    if (suggestion.origin === origin && keys.includes(suggestion.key)) suggestion.state = state;
  }
}

/**
 * Make words an entity; those that it covers become part of it.
 *
 * @param {AnnotatedDocument} doc
 * @param {Span & { tag: string }} span
 * @param {string | null} origin
 */
function putEntity(doc, { section, line, start, end, tag }, origin) {
  const id = `${section}-${line}-${start}`;
  const covered = overlapping(doc, { section, line, start, end });
  doc.entities = doc.entities.filter((entity) => !covered.includes(entity));
  doc.entities.push({ id, section, line, start, end, tag, text: null, origin, pending: true });
  doc.entities.sort(byPlace);
  rename(doc, new Map(covered.map((entity) => [entity.id, id])));
}

/** Whether a suggested entity was accepted. */
function acceptEntity(doc, item, { origin, replace }) {
  const covered = overlapping(doc, item);
  const [first] = covered;
  if (first && !replace) return false;
  if (covered.length === 1 && first.start === item.start && first.end === item.end && first.tag === item.tag)
    return false;
  const names = new Map(covered.map((entity) => [entity.id, item.id]));
  if (hasCycle(renamedFlows(doc.flows, names))) return false;
  putEntity(doc, item, origin);
  return true;
}

/** Whether a suggested flow was accepted. */
function acceptFlow(doc, { start, end, label }, { origin, replace }) {
  const beside = doc.flows.filter((flow) => flow.start === start && flow.end === end);
  if (beside.length && (!replace || beside.some((flow) => flow.label === label))) return false;
  const rest = doc.flows.filter((flow) => !beside.includes(flow));
  const flows = withFlow(rest, { start, end, label, origin, pending: true });
  const known = new Set(doc.entities.map((entity) => entity.id));
  if (start === end || !known.has(start) || !known.has(end) || hasCycle(flows)) return false;
  doc.flows = flows;
  return true;
}

/** @type {(doc: AnnotatedDocument, span: Span) => AnnotatedEntity[]} */
function overlapping(doc, { section, line, start, end }) {
  return doc.entities.filter(
    (entity) => entity.section === section && entity.line === line && entity.start < end && start < entity.end,
  );
}

function isFlow(flow, { start, end, label }) {
  return flow.start === start && flow.end === end && flow.label === label;
}

/** The flows with one more, in reading order: before the first that is later in the text. */
function withFlow(flows, flow) {
  const later = flows.findIndex(
    (other) => (compareIds(other.start, flow.start) || compareIds(other.end, flow.end)) > 0,
  );
  return flows.toSpliced(later < 0 ? flows.length : later, 0, flow);
}

/** Let everything that referred to some entities refer to others; what became double or senseless goes. */
function rename(doc, names) {
  doc.flows = renamedFlows(doc.flows, names);
  renamePairs(doc, names);
  renameNotes(doc, names);
}

/** @type {(flows: AnnotatedFlow[], names: Map<string, string>) => AnnotatedFlow[]} */
function renamedFlows(flows, names) {
  const kept = new Map();
  for (const flow of flows) {
    const [start, end] = [names.get(flow.start) ?? flow.start, names.get(flow.end) ?? flow.end];
    const key = `${start}>${end}:${flow.label}`;
    if (start !== end && !kept.has(key)) kept.set(key, { ...flow, start, end });
  }
  return [...kept.values()];
}

/** Whether flows have a cycle: repeatedly removing all nodes without incoming flows leaves something. */
function hasCycle(flows) {
  let left = flows;
  for (;;) {
    const ends = new Set(left.map((flow) => flow.end));
    const inside = left.filter((flow) => ends.has(flow.start));
    if (inside.length === left.length) return left.length > 0;
    left = inside;
  }
}

function byPlace(one, other) {
  return compareIds(one.id, other.id);
}

/** Word ids in reading order. */
function compareIds(one, other) {
  const [a, b] = [one, other].map((id) => id.split("-").map(Number));
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}
