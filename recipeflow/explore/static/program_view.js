// The recipe as a cooking program, in the recipe's words or in English.

import { element, replaceContent } from "./dom.js";
import { say } from "./language.js";

/** @import { ShownRecipe } from "./recipe_page.js" */

const MARGIN_SIGN = "  # ";

/**
 * Show the view in `body`.
 *
 * @param {HTMLElement} body
 * @param {ShownRecipe} recipe
 */
export function showProgram(body, recipe) {
  const { program, english_program: english } = recipe.data;
  const listing = element("ol", { class: "program" });
  const fill = (text, lang) => {
    listing.setAttribute("lang", lang);
    replaceContent(listing, text.trimEnd().split("\n").map(programLine));
  };
  fill(english ?? program, english ? "en" : recipe.view.language);
  replaceContent(
    body,
    element(
      "section",
      { class: "panel program-panel", "aria-label": say("Cooking program") },
      element("p", { class: "soft" }, say("Inputs i1, i2, … come from the ingredient list; steps x1, x2, … are the actions, each once, in an order in which everything exists before it is used. Behind the sign # stand tag and word id of every mention. "), element("code", {}, `vrf program ${recipe.about.name} ${recipe.view.id}`), say(" prints it.")),
      english ? languageChoice((isEnglish) => fill(isEnglish ? english : program, isEnglish ? "en" : recipe.view.language)) : null,
      element("div", { class: "program-scroll", tabindex: "0", role: "region", "aria-label": say("Listing") }, listing),
    ),
  );
  return null;
}

function languageChoice(onChange) {
  const box = element("input", { type: "checkbox", checked: true });
  box.addEventListener("change", () => onChange(box.checked));
  return element("label", { class: "switch" }, box, say("English words"));
}

function programLine(line) {
  const [code, margin] = splitMargin(line);
  const [, variable, rest] = code.match(/^([imx]\d+)( = .*)$/s) ?? [null, null, code];
  const name = variable === null ? null : element("span", { class: `variable variable-${variable[0]}` }, variable);
  return element("li", {}, element("code", {}, name, rest), margin ? element("span", { class: "program-margin" }, `# ${margin}`) : null);
}

function splitMargin(line) {
  const at = line.lastIndexOf(MARGIN_SIGN);
  return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + MARGIN_SIGN.length)];
}
