// What the next flow probably is: its label, for two entities, and its end, for a start. Both are only proposals, which
// Enter accepts. tests/annotate/test_likely.py measures them on the official annotations.

/** @import { Entity, Flow, TextView } from "/shared/types.js" */

const FROM_FOOD = ["F-eq", "F-set"];

/**
 * The likeliest label between two entities: the most frequent one for their tags, unless their places say more.
 *
 * @param {Record<string, string[]>} likely Usual labels by the tags of start and end, the most frequent first.
 * @param {{ entities: Entity[], flows: Flow[] }} view
 * @param {Entity} start
 * @param {Entity} end
 * @returns {string | null}
 */
export function likelyLabel(likely, view, start, end) {
  const tags = `${start.tag}>${end.tag}`;
  const sameLine = start.section === end.section && start.line === end.line;
  if (sameLine && tags === "F>F" && start.section === 0) return "other-mod";
  if (sameLine && (tags === "F>F" || tags === "Ac>F")) return "F-part-of";
  const [usual = null] = likely[tags] ?? [];
  if (usual !== "F-eq") return usual;
  // A food that is made of one thing already is a set of several.
  const others = view.flows.filter(
    (flow) => flow.end === end.id && flow.start !== start.id && FROM_FOOD.includes(flow.label),
  );
  return others.length ? "F-set" : usual;
}

/**
 * Where a flow from `start` may end, the likeliest first: then, of the entities that flows from such a tag usually go
 * to, later ones that nothing leads to yet, other later ones, and earlier ones.
 *
 * @param {Record<string, string[]>} likely Usual labels by the tags of start and end.
 * @param {{ entities: Entity[], flows: Flow[] }} view
 * @param {Entity} start
 * @returns {Entity[]}
 */
export function likelyEnds(likely, { entities, flows }, start) {
  const at = entities.findIndex((entity) => entity.id === start.id);
  const isUsual = (entity) => `${start.tag}>${entity.tag}` in likely;
  const reached = new Set(flows.map((flow) => flow.end));
  const [earlier, later] = [entities.slice(0, at).reverse(), entities.slice(at + 1)].map((part) => part.filter(isUsual));
  // An ingredient is mentioned in the instructions; the lines below its own are about others.
  const open = later.filter((entity) => entity.section === 1 && !reached.has(entity.id));
  const first = likelyEnd(entities, at);
  return [...new Set([...(first ? [first] : []), ...open, ...later, ...earlier])];
}

/**
 * A quantity belongs to the food before it, an ingredient to its first mention or to the food in its line that it is a
 * mark of, the state of a tool to that tool, everything else to the next action.
 *
 * @type {(entities: Entity[], at: number) => Entity | null}
 */
function likelyEnd(entities, at) {
  const start = entities[at];
  const isHere = (entity) => entity.section === start.section && entity.line === start.line;
  const later = entities.slice(at + 1);
  const nextOf = (tag) => later.find((entity) => entity.tag === tag) ?? null;
  if (start.section === 0 && start.tag !== "F")
    return entities.slice(0, at).findLast((entity) => isHere(entity) && entity.tag === "F") ?? null;
  if (start.section === 0) {
    const isMention = (entity) => entity.section === 1 && entity.tag === "F" && entity.text === start.text;
    const marked = later.find((entity) => isHere(entity) && entity.tag === "F");
    return marked ?? ((start.text !== null && later.find(isMention)) || null);
  }
  return (start.tag === "St" && nextOf("T")) || nextOf("Ac");
}
