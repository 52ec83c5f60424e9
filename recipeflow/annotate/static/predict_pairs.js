// The part of a prediction that is about pairs: the frames before and after an action, for each of its objects.

/** @import { AnnotatedDocument, AnnotatedPair, FrameChoice, Predictions } from "./types.js" */

/** @type {Predictions} */
export const PAIR_PREDICTIONS = {
  add_object(doc, { action, object, position }) {
    const name = object ?? freeName(doc, action);
    const pairs = pairsOf(doc, action);
    if (pairs.some((pair) => nameOf(pair) === name)) return;
    putPairs(doc, action, pairs.toSpliced(position ?? pairs.length, 0, emptyPair(doc, action, name)));
    unlink(doc, action);
  },
  remove_object(doc, { key }) {
    const gone = doc.objects.find((pair) => pair.key === key);
    if (!gone) return;
    doc.objects = doc.objects.filter((pair) => pair !== gone);
    doc.notes = doc.notes.filter(({ target }) => !target.startsWith(`im:${key}:`));
    if (!isOnlyKept(doc, gone)) unlink(doc, gone.action);
  },
  move_object(doc, { key, position }) {
    const moved = doc.objects.find((pair) => pair.key === key);
    if (!moved) return;
    const rest = pairsOf(doc, moved.action).filter((pair) => pair !== moved);
    putPairs(doc, moved.action, rest.toSpliced(position, 0, { ...moved, pending: true }));
    unlink(doc, moved.action);
  },
  reset_objects(doc, { action }) {
    const listed = new Map(pairsOf(doc, action).map((pair) => [nameOf(pair), pair]));
    const traced = doc.actions.find((each) => each.action === action)?.traced ?? [];
    const chosen = [...listed.values()].filter(isChosen).map(nameOf);
    const names = [...new Set([...traced, ...chosen])];
    putPairs(
      doc,
      action,
      names.map((name) => listed.get(name) ?? emptyPair(doc, action, name)),
    );
    for (const each of doc.actions) if (each.action === action) each.linked = true;
  },
  frame(doc, change) {
    setSides(doc, [change]);
  },
  frames(doc, { changes }) {
    setSides(doc, changes);
  },
};

/** Whether a suggested pair was accepted: only open sides are filled, unless it replaces what is there. */
export function acceptPair(doc, item, { key, origin, replace }) {
  const isEntity = (id) => doc.entities.some((entity) => entity.id === id);
  const isAction = doc.entities.some((entity) => entity.id === item.action && entity.tag === "Ac");
  const suggested = item.object ?? key.split("/").at(-1).split(":")[0];
  const pairs = pairsOf(doc, item.action);
  const old = pairs.find((pair) => nameOf(pair) === suggested);
  if (!isAction || (!old && item.object !== null && !isEntity(item.object))) return false;
  const pair = old ?? emptyPair(doc, item.action, item.object ?? freeName(doc, item.action));
  const fill = (side) => (item[side] !== null && (replace || pair[side] === null) ? item[side] : pair[side]);
  const [before, after] = [fill("before"), fill("after")];
  if (before === pair.before && after === pair.after) return false;
  if (typeof before === "number" && typeof after === "number" && after < before) return false;
  if (!old) putPairs(doc, item.action, [...pairs, pair]);
  Object.assign(pair, { before, after, origin, pending: true });
  return true;
}

/**
 * Let pairs follow entities that got other names. Where two become one, a chosen one stays, the first in the text.
 *
 * @param {AnnotatedDocument} doc
 * @param {Map<string, string>} names
 */
export function renamePairs(doc, names) {
  const to = (id) => names.get(id) ?? id;
  const staying = new Map();
  for (const pair of doc.objects.toSorted(byImportance)) {
    const [action, name] = [to(pair.action), to(nameOf(pair))];
    const key = `${action}/${name}`;
    if (action !== name && !staying.has(key)) staying.set(key, { pair, action, name, key });
  }
  const renamed = new Map([...staying.values()].map((each) => [each.pair, each]));
  doc.objects = doc.objects.flatMap((pair) => {
    const { action, name, key } = renamed.get(pair) ?? {};
    return key ? [{ ...pair, action, key, object: pair.object === null ? null : name }] : [];
  });
  for (const each of doc.actions) Object.assign(each, { action: to(each.action), traced: each.traced.map(to) });
}

/** The actions as the entities have them now, in reading order, and only their pairs. */
export function followActions(doc) {
  const known = new Map(doc.actions.map((each) => [each.action, each]));
  const ids = doc.entities.filter((entity) => entity.tag === "Ac").map((entity) => entity.id);
  doc.actions = ids.map((action) => known.get(action) ?? { action, linked: true, traced: [] });
  const pairs = Map.groupBy(doc.objects, (pair) => pair.action);
  doc.objects = ids.flatMap((action) => pairs.get(action) ?? []);
}

/** @type {(doc: AnnotatedDocument, action: string) => AnnotatedPair[]} */
function pairsOf(doc, action) {
  return doc.objects.filter((pair) => pair.action === action);
}

function putPairs(doc, action, pairs) {
  doc.objects = [...doc.objects.filter((pair) => pair.action !== action), ...pairs];
}

/** @type {(doc: AnnotatedDocument, action: string, name: string) => AnnotatedPair} */
function emptyPair(doc, action, name) {
  const traced = doc.actions.some((each) => each.action === action && each.traced.includes(name));
  const object = name.startsWith("?") ? null : name;
  const open = { before: null, after: null, origin: null, offer: null };
  return { action, object, key: `${action}/${name}`, traced, ...open, pending: true };
}

/** What an object is called among those of its action: its entity's id, or ?0, ?1, … without one. */
function nameOf(pair) {
  return pair.key.split("/")[1];
}

function freeName(doc, action) {
  const taken = new Set(pairsOf(doc, action).map(nameOf));
  let number = 0;
  while (taken.has(`?${number}`)) number += 1;
  return `?${number}`;
}

function unlink(doc, action) {
  for (const each of doc.actions) if (each.action === action) each.linked = false;
}

function isChosen(pair) {
  return pair.before !== null || pair.after !== null;
}

/** Whether only its frames keep a pair in the list: no one added it, and no flow leads to it. */
function isOnlyKept(doc, pair) {
  return !pair.traced && doc.actions.some((each) => each.action === pair.action && each.linked);
}

/** @type {(doc: AnnotatedDocument, changes: { key: string, side: "before" | "after", value: FrameChoice }[]) => void} */
function setSides(doc, changes) {
  for (const { key, side, value } of changes) {
    const pair = doc.objects.find((each) => each.key === key);
    if (pair && pair[side] !== value) Object.assign(pair, { [side]: value, origin: null, pending: true });
  }
  doc.objects = doc.objects.filter((pair) => isChosen(pair) || !isOnlyKept(doc, pair));
}

function byImportance(one, other) {
  return Number(isChosen(other)) - Number(isChosen(one)) || comparePlaces(placeOf(one), placeOf(other));
}

/** Numbers by which pairs sort in reading order; objects without an entity come last. */
function placeOf(pair) {
  const name = nameOf(pair);
  const numbers = name.startsWith("?") ? [1, Number(name.slice(1))] : [0, ...name.split("-").map(Number)];
  return [...pair.action.split("-").map(Number), ...numbers];
}

function comparePlaces(one, other) {
  const at = one.findIndex((number, i) => number !== other[i]);
  return at < 0 ? 0 : one[at] - other[at];
}
