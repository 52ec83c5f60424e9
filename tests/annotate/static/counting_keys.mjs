// Reads {likely, entities, flows, types} per line, and answers with the keys that drawing the flows takes: with
// all keys of the page, and with arrows alone. One flow after the other, by the start's place in the text.
//
// The page's keys: N begins at the next entity from which no flow starts and goes to where one probably ends, J goes to
// the next likely end; arrow keys go to the neighbouring entity; / finds an entity by its first letters, arrow down the next such one, Enter takes it; Enter
// chooses, and then takes the proposed label, which any other key replaces. Typing counts only where `types` is true: in
// Japanese a letter takes several keys and a conversion.

import { createInterface } from "node:readline";

import { likelyEnds } from "../../../recipeflow/annotate/static/likely_flow.js";

for await (const line of createInterface({ input: process.stdin })) {
  const recipe = JSON.parse(line);
  console.log(JSON.stringify({ page: countPage(recipe), arrows: countArrows(recipe), flows: recipe.flows.length }));
}

function ordered({ entities, flows }) {
  const place = new Map(entities.map(({ id }, i) => [id, i]));
  return flows.toSorted((a, b) => place.get(a.start) - place.get(b.start) || place.get(a.end) - place.get(b.end));
}

/** Arrows to the start, Enter, arrows to the end, Enter, the label's key. */
function countArrows(recipe) {
  const place = new Map(recipe.entities.map(({ id }, i) => [id, i]));
  let keys = 0;
  let at = 0;
  for (const { start, end } of ordered(recipe)) {
    keys += Math.abs(place.get(start) - at) + 1 + Math.abs(place.get(end) - place.get(start)) + 1 + 1;
    at = place.get(end);
  }
  return keys;
}

function countPage(recipe) {
  const { entities } = recipe;
  const place = new Map(entities.map(({ id }, i) => [id, i]));
  const drawn = [];
  let keys = 0;
  let focus = 0;
  let begun = -1;
  for (const flow of ordered(recipe)) {
    const [start, end] = [flow.start, flow.end].map((id) => entities[place.get(id)]);
    const ends = likelyEnds(recipe.likely, { entities, flows: drawn }, start).map(({ id }) => id);
    const rank = ends.indexOf(end.id);
    // J goes through the likely ends; from N on, the focus is on the first of them.
    const after = (from, tried) => Math.min(reach(recipe, from, end), rank < 0 ? Infinity : rank - tried + 1);
    const ways = [reach(recipe, focus, start) + after(place.get(start.id), -1)];
    const pressed = pressesOfN(entities, drawn, begun, start);
    if (pressed) ways.push(pressed + after(place.get(ends[0] ?? start.id), 0));
    if (Math.min(...ways) === ways[1]) begun = place.get(start.id);
    keys += Math.min(...ways) + 1; // the label: Enter if it is the proposed one, else its own key
    drawn.push(flow);
    focus = place.get(end.id);
  }
  return keys;
}

/** How often N is pressed until it begins at an entity; 0 if it never does. */
function pressesOfN(entities, drawn, begun, start) {
  const started = new Set(drawn.map((flow) => flow.start));
  const round = [...entities.slice(begun + 1), ...entities.slice(0, begun + 1)];
  return round.filter(({ id }) => !started.has(id)).findIndex(({ id }) => id === start.id) + 1;
}

/** Keys to choose an entity: arrows and Enter, or / with the fewest letters and arrows down, and Enter. */
function reach({ entities, types }, focus, { id }) {
  const at = entities.findIndex((entity) => entity.id === id);
  const byArrows = Math.abs(at - focus) + 1;
  if (!types) return byArrows;
  const own = entities[at].text.toLowerCase();
  let best = byArrows;
  for (let letters = 1; letters <= own.length && 2 + letters < best; letters += 1) {
    const typed = own.slice(0, letters);
    const found = entities.filter((entity) => entity.text.toLowerCase().startsWith(typed));
    best = Math.min(best, 1 + letters + found.findIndex((entity) => entity.id === id) + 1);
  }
  return best;
}
