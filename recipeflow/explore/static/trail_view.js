// The state trail: one ingredient from raw to the finished dish, picture by picture.

import { element, replaceContent } from "./dom.js";
import { say } from "./language.js";

/** @import { ShownRecipe } from "./recipe_page.js" */

/**
 * Show the view in `body`; `more` is the ingredient's id.
 *
 * @param {HTMLElement} body
 * @param {ShownRecipe} recipe
 * @param {{ more: string | null }} options
 */
export function showTrail(body, recipe, { more }) {
  const { trails } = recipe.data;
  if (trails.length === 0) {
    replaceContent(body, element("p", { class: "notice" }, say("This recipe's list names no food to follow.")));
    return null;
  }
  const chosen = trails.find((trail) => trail.ingredient === more) ?? longestTrail(recipe);
  const links = trails.map((trail) => {
    const current = trail === chosen ? "true" : null;
    return element("li", {}, element("a", { href: recipe.address("trail", trail.ingredient), "aria-current": current }, recipe.nameParts(trail.ingredient), element("span", { class: "soft" }, stepCount(trail))));
  });
  replaceContent(
    body,
    element("nav", { class: "panel trail-choice", "aria-label": say("Ingredients") }, element("h2", {}, say("Follow")), element("ul", {}, links)),
    element("section", { class: "panel trail-panel", "aria-label": say("State trail") }, trailHead(recipe, chosen), element("ol", { class: "trail" }, trailMoments(recipe, chosen))),
  );
  return null;
}

function stepCount(trail) {
  return trail.steps.length === 1 ? say("1 step") : say("{count} steps", { count: trail.steps.length });
}

/** The ingredient with the most pictures: the best to begin with. */
function longestTrail(recipe) {
  const pictures = (trail) => trail.steps.flatMap((step) => step.rows).filter((row) => recipe.view.objects[row].after !== null).length;
  return [...recipe.data.trails].sort((a, b) => pictures(b) - pictures(a))[0];
}

function trailHead(recipe, trail) {
  const last = trail.steps.at(-1);
  const ends = last && recipe.data.results.includes(last.action);
  const text = trail.steps.length === 0 ? "No action takes it up." : ends ? "From the list to the dish." : "It goes no further than this: no flow leads on from its last action to the dish.";
  return [element("h2", {}, recipe.nameParts(trail.ingredient)), element("p", { class: "soft" }, say(text))];
}

/**
 * Pictures, and between them the actions. A picture that two steps share is shown once; where there is none after a step, the
 * one before the next step shows the same, and only where that is missing too is there an empty box.
 */
function trailMoments(recipe, trail) {
  const name = recipe.plainName(trail.ingredient);
  const moments = [];
  let shown = null;
  trail.steps.forEach((step, number) => {
    const rows = step.rows.map((row) => recipe.view.objects[row]);
    const before = rows.find((row) => row.before !== null)?.before ?? null;
    if (shown === null || (before !== null && before !== shown)) {
      if (shown !== null) moments.push(element("li", { class: "moment-gap", title: say("meanwhile") }, "…"));
      moments.push(pictureMoment(recipe, before, say("{name} before: {verb}", { name, verb: recipe.plainName(step.action) }), number === 0 ? say("raw") : null));
    }
    moments.push(actionMoment(recipe, step, rows));
    shown = rows.findLast((row) => row.after !== null)?.after ?? null;
    const isLast = number === trail.steps.length - 1;
    const word = isLast && recipe.data.results.includes(step.action) ? say("the dish") : null;
    if (shown !== null || isLast) moments.push(pictureMoment(recipe, shown, say("{name} after: {verb}", { name, verb: recipe.plainName(step.action) }), word));
  });
  return moments;
}

function pictureMoment(recipe, frame, alt, word) {
  const caption = [frame === null ? null : say("frame {number}", { number: frame }), word].filter(Boolean).join(" · ");
  return element("li", { class: frame === null ? "moment-picture unseen" : "moment-picture" }, element("figure", {}, recipe.pictures.make(frame, alt), element("figcaption", { class: "soft" }, caption || say("no image"))));
}

function actionMoment(recipe, step, rows) {
  const objects = [...new Set(rows.map((row) => row.object).filter((id) => id !== null && id !== step.action))];
  const names = objects.map((id, i) => [i ? ", " : "", recipe.nameParts(id)]);
  const role = step.label === "Targ" ? names : step.label === "Dest" ? [say("takes in "), names] : [say("as {label} of ", { label: recipe.labelName(step.label).toLowerCase() }), names];
  return element(
    "li",
    { class: "moment-action" },
    element("span", { class: "entity tag-Ac" }, recipe.nameParts(step.action)),
    element("span", { class: "moment-arrow", "aria-hidden": "true" }, "⟶"),
    element("span", { class: "moment-role soft" }, role),
    element("span", { class: "moment-place soft" }, recipe.placeOf(step.action)),
  );
}
