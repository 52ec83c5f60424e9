// What a search over annotations finds: entities, flows and images of whole layers, by word, tag, label and doubt.

import { foldText } from "/shared/kana.js";
import { hasWord, readSearch } from "/shared/matching.js";
import { stemsOf } from "/shared/stems.js";

/**
 * @typedef {object} Hit
 * @property {string} layer
 * @property {any} recipe The recipe as the server lists it.
 * @property {"words" | "flows" | "frames"} step
 * @property {string} key Names it among all hits.
 * @property {string} at Where a link leads to.
 * @property {string[]} texts
 * @property {string[]} tags
 * @property {string | null} label
 * @property {any} entity The entity to mark in its line.
 * @property {any[]} ends The entities that it connects.
 * @property {{ unsure: boolean, text: string }[]} notes
 *
 * @typedef {{ step: string, text: string, exact: boolean, tag: string, label: string, unsure: boolean }} Filters
 */

/**
 * Everything in layers that could be found.
 *
 * @param {{ layer: string, recipes: any[] }[]} layers
 * @returns {Hit[]}
 */
export function listHits(layers) {
  return layers.flatMap(({ layer, recipes }) => recipes.flatMap((recipe) => hitsOf(layer, recipe)));
}

/** @type {(layer: string, recipe: any) => Hit[]} */
function hitsOf(layer, recipe) {
  const entities = new Map(recipe.entities.map((entity) => [entity.id, entity]));
  const hit = (step, at, ids, targets, label = null) => {
    const ends = ids.map((id) => entities.get(id)).filter(Boolean);
    return {
      layer,
      recipe,
      step,
      key: `${layer}/${recipe.id}/${step}/${at}`,
      at,
      texts: ends.map((entity) => entity.text ?? ""),
      tags: ends.map((entity) => entity.tag),
      label,
      entity: ends.at(-1),
      ends,
      notes: targets.map((target) => recipe.notes[target]).filter(Boolean),
    };
  };
  return [
    ...recipe.entities.map(({ id }) => hit("words", id, [id], [`ne:${id}`])),
    ...recipe.flows.map(({ start, end, label }) => {
      const key = `${start}>${end}:${label}`;
      return hit("flows", key, [start, end], [`fg:${key}`], label);
    }),
    ...recipe.objects.map(({ key, action, object }) =>
      hit("frames", key, [object, action], [`im:${key}:before`, `im:${key}:after`]),
    ),
  ];
}

/**
 * The hits that fit all filters; an empty filter fits everything.
 *
 * @type {(hits: Hit[], filters: Filters) => Hit[]}
 */
export function chooseHits(hits, { step, text, exact, tag, label, unsure }) {
  const words = readSearch(text);
  const whole = foldText(text.trim());
  const fitsText = (hit) => {
    const folded = hit.texts.map(foldText);
    if (!words.length) return true;
    // 切る finds 切, and 切り where the ending was tagged too.
    const stems = new Set(folded.flatMap((each) => [each, ...stemsOf(each)]));
    if (exact) return folded.includes(whole) || words[0].stems.some((stem) => stems.has(stem));
    return words.every((word) => hasWord(folded.join("\n"), stems, word));
  };
  return hits.filter(
    (hit) =>
      hit.step === step &&
      (!tag || hit.tags.includes(tag)) &&
      (!label || hit.label === label) &&
      (!unsure || hit.notes.some((note) => note.unsure)) &&
      fitsText(hit),
  );
}
