// One line of what a search found: the words in their line, the tag or label, notes, and a link to the place.

import { element } from "/shared/dom.js";

import { t } from "./language.js";
import { noteSentence } from "./note_tools.js";
import { link, placeAddress } from "./routes.js";

/** @import { Children } from "/shared/types.js" */
/** @import { Hit } from "./find_hits.js" */

/**
 * @param {Hit} hit
 * @param {{ lang: string, chosen: boolean, canChoose: boolean, showLayer: boolean,
 *   onChoose: (on: boolean) => void }} options
 */
export function hitRow(hit, { lang, chosen, canChoose, showLayer, onChoose }) {
  const { recipe, layer, step, at, notes } = hit;
  const box = element("input", { type: "checkbox", "aria-label": t("find.choose", { text: hit.texts.join(" → ") }) });
  box.checked = chosen;
  box.addEventListener("change", () => onChoose(box.checked));
  const place = link(
    placeAddress(recipe.id, step, layer, at),
    { class: "find-place" },
    element("span", { lang }, recipe.title || recipe.id),
  );
  return element(
    "li",
    { class: "find-hit", data: { hit: at, recipe: recipe.id, layer } },
    canChoose ? box : null,
    element(
      "div",
      { class: "find-what", lang },
      what(hit),
      notes.map((note) => element("p", { class: `note-by small ${note.unsure ? "unsure" : ""}` }, noteSentence(note))),
    ),
    element(
      "div",
      { class: "find-where small" },
      place,
      showLayer ? element("span", { class: "soft" }, ` ${layer}`) : null,
    ),
  );
}

/** An entity within its line; of a flow or pair, both ends. */
/** @type {(hit: Hit) => Children} */
function what({ step, entity, ends, label, recipe }) {
  if (step !== "words") {
    const [start, end] = ends.map((each) => [marked(each), " "]);
    const name = label && element("b", { class: `flow-label label-${label}` }, label);
    return ends.length === 1 ? start : [start, label ? "→ " : "· ", end, name];
  }
  const [section, line] = entity.id.split("-").map(Number);
  const text = recipe.lines[section][line];
  if (text === null) return marked(entity);
  const letters = [...text]; // the server counts characters, not halves of surrogate pairs
  const part = (from, to) => letters.slice(from, to).join("");
  return [part(0, entity.from), marked(entity), part(entity.to, letters.length)];
}

function marked(entity) {
  return element(
    "mark",
    { class: `entity tag-${entity.tag}` },
    entity.text ?? "▯".repeat(entity.to - entity.from),
    element("span", { class: "tag-badge", "aria-hidden": "true" }, entity.tag),
  );
}
