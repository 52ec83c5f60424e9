// What is taken along when a curator takes entries of a layer into gold: the entities that flows and frames belong to,
// and where the words of that layer end.

import { lineEnds } from "./predict_words.js";

/** @import { AnnotatedDocument, Division, Item } from "./types.js" */

const KINDS = ["entity", "flow", "image"];

/**
 * One operation that takes `entries` of the layer `view` into `gold`, in the order in which they need each other.
 *
 * @param {Item[]} entries
 * @param {AnnotatedDocument} view
 * @param {AnnotatedDocument} gold
 * @param {string} origin
 */
export function takeOperation(entries, view, gold, origin) {
  const items = KINDS.flatMap((kind) => entries.filter((entry) => entry.kind === kind)).map(bare);
  const ids = new Set(items.flatMap(({ item }) => [item.start, item.end, item.action, item.object]));
  const needed = view.entities.filter((entity) => ids.has(entity.id)).map(entityItem);
  const words = otherDivisions(view, gold);
  return { op: "accept", origin, items, replace: true, needed, words };
}

/** @type {(item: Item) => Item} */
function bare({ key, kind, item }) {
  return { key, kind, item };
}

/** @returns {Item} */
function entityItem({ id, section, line, start, end, tag }) {
  return { key: `ne:${id}:${end}:${tag}`, kind: "entity", item: { section, line, start, end, tag } };
}

/**
 * The lines that two annotations of a recipe divide into different words, as the first has them.
 *
 * @param {AnnotatedDocument} view
 * @param {AnnotatedDocument} gold
 * @returns {Division[]}
 */
function otherDivisions(view, gold) {
  return view.sections.flatMap(({ lines }, section) =>
    lines
      .map((_, line) => ({ section, line, ends: lineEnds(view, section, line) ?? [] }))
      .filter(({ line, ends }) => String(ends) !== String(lineEnds(gold, section, line))),
  );
}
