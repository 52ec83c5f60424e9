// A recipe's page: its name, and four ways to look at it.

import { element, replaceContent } from "./dom.js";
import { showFlows } from "./flow_view.js";
import { showGraph } from "./graph_view.js";
import { labelNameOf, say, tagNameOf } from "./language.js";
import { loadData, messageOf } from "./loading.js";
import { PictureMaker } from "./picture.js";
import { showProgram } from "./program_view.js";
import { showTrail } from "./trail_view.js";

/** @import { Entity, RecipeView } from "./types.js" */

/**
 * @typedef {object} About What the whole site says of itself; recipeflow/explore/library.py makes it.
 * @property {string} name
 * @property {string | null} source
 * @property {string | null} licence
 * @property {string} language The code of the language of the recipes.
 * @property {Record<string, string>} tags Their names by tag, in the paper's order.
 * @property {Record<string, string>} labels
 * @property {string | null} stamp
 *
 * @typedef {object} PageData All that a recipe's page shows; recipeflow/explore/catalogue.py makes it.
 * @property {RecipeView} view
 * @property {[text: string, english: string][]} english
 * @property {number[]} pictures The frames that are there.
 * @property {Record<string, { objects: string[], through: string[], origins: string[] }>} lights
 * @property {{ ingredient: string, steps: { action: string, label: string, rows: number[] }[] }[]} trails
 * @property {{ all: PlacedNode[], folded: PlacedNode[], notes: [note: string, owner: string][] }} graph
 * @property {string} program
 * @property {string | null} english_program
 * @property {string[]} results
 *
 * @typedef {[id: string, level: number, slot: number]} PlacedNode
 */

const VIEWS = [
  { id: "flows", name: "Recipe", show: showFlows },
  { id: "trail", name: "State trail", show: showTrail },
  { id: "graph", name: "Graph", show: showGraph },
  { id: "program", name: "Program", show: showProgram },
];

/** The page of a recipe in `main`; returns a function that ends it. `isWanted()` says whether to show it still. */
export async function showRecipe(main, { catalogue, about, address, announce, isWanted }) {
  const entry = await catalogue.find(address.id);
  if (!isWanted()) return null;
  if (entry === null) return showNothing(main, say("There is no recipe {id} here.", { id: address.id }));
  let data;
  try {
    data = await loadData(`data/recipes/${entry.number}`);
  } catch (error) {
    return isWanted() ? showNothing(main, say("This recipe cannot be shown: {reason}.", { reason: messageOf(error) })) : null;
  }
  if (!isWanted()) return null;
  const recipe = new ShownRecipe(entry, data, about);
  const view = VIEWS.find((each) => each.id === address.view) ?? VIEWS[0];
  const body = element("div", { class: `recipe-body view-${view.id}` });
  replaceContent(main, recipeHead(recipe, catalogue, view), whatIsMissing(recipe), body);
  return view.show(body, recipe, { more: address.more, announce });
}

function showNothing(main, text) {
  replaceContent(main, element("h1", {}, say("Not found")), element("p", { class: "notice" }, text), element("p", {}, element("a", { href: "#/" }, say("All recipes"))));
  return null;
}

/** A recipe with what its views ask again and again. */
export class ShownRecipe {
  /**
   * @param {Record<string, any>} entry
   * @param {PageData} data
   * @param {About} about
   */
  constructor(entry, data, about) {
    this.entry = entry;
    this.data = data;
    this.about = about;
    this.view = data.view;
    this.english = new Map(data.english);
    this.entities = new Map(data.view.entities.map((entity) => [entity.id, entity]));
    this.pictures = new PictureMaker(entry.number, about.stamp, data.pictures);
    this.hasText = data.view.sections.some((section) => section.lines.some((line) => line.text !== null));
  }

  get title() {
    return this.view.title || this.view.id;
  }

  /** @type {(view: string, more?: string | null) => string} */
  address(view, more = null) {
    return `#/recipe/${encodeURIComponent(this.view.id)}/${view}${more === null ? "" : `/${encodeURIComponent(more)}`}`;
  }

  /** @type {(id: string) => Entity} Flows and pairs name no other entities than the recipe's own. */
  entity(id) {
    return /** @type {Entity} */ (this.entities.get(id));
  }

  /** An entity's words; its id where there is no text. */
  textOf(id) {
    return this.entity(id).text ?? id;
  }

  englishOf(id) {
    return this.english.get(this.entity(id).text ?? "") ?? null;
  }

  /** The name of a tag or label, which the explorer's data bring along. */
  tagName(tag) {
    return tagNameOf(this.about, tag);
  }

  labelName(label) {
    return labelNameOf(this.about, label);
  }

  /** Words and English as elements. */
  nameParts(id) {
    const english = this.englishOf(id);
    const text = element("span", { lang: this.hasText ? this.view.language : null, class: "name-text" }, this.textOf(id));
    return english === null ? [text] : [text, " ", element("span", { class: "name-english" }, english)];
  }

  /** Words and English in one line, English first: for descriptions. */
  plainName(id) {
    const english = this.englishOf(id);
    return english === null ? this.textOf(id) : `${english} ${this.textOf(id)}`;
  }

  /** The number of an entity's instruction, counted from 1. */
  placeOf(id) {
    const entity = this.entity(id);
    return say(entity.section === 0 ? "ingredient {number}" : "instruction {number}", { number: entity.line + 1 });
  }
}

function recipeHead(recipe, catalogue, shown) {
  const english = recipe.english.get(recipe.view.title ?? "");
  const { entry } = recipe;
  const step = (number, word) => {
    const other = catalogue.recipes[number];
    return other ? element("a", { class: "button", href: `#/recipe/${encodeURIComponent(other.id)}/${shown.id}`, rel: word.toLowerCase() }, say(word)) : null;
  };
  const facts = [
    recipe.view.title ? recipe.view.id : null,
    say("{count} ingredients", { count: recipe.view.sections[0].lines.length }),
    say("{count} instructions", { count: recipe.view.sections[1].lines.length }),
    say("{count} actions", { count: entry.actions }),
    say("{count} flows", { count: recipe.view.flows.length }),
  ].filter(Boolean);
  const links = VIEWS.map(({ id, name }) => element("a", { href: recipe.address(id), "aria-current": id === shown.id ? "page" : null }, say(name)));
  return element(
    "div",
    { class: "recipe-head" },
    element("div", { class: "recipe-name" }, element("h1", {}, element("span", { lang: recipe.view.language }, recipe.title), english ? element("span", { class: "title-english" }, english) : null), element("p", { class: "soft" }, facts.join(" · "), sourceLink(recipe))),
    element("nav", { class: "recipe-steps", "aria-label": say("Other recipes") }, element("a", { class: "button", href: "#/" }, say("All recipes")), step(entry.number - 1, "Previous"), step(entry.number + 1, "Next")),
    element("nav", { class: "views", "aria-label": say("Ways to look at this recipe") }, links),
  );
}

/** Where the recipe was published, where that is a web address. */
function sourceLink(recipe) {
  const { url } = recipe.view;
  // The simulated kitchen's recipes are on no page: their addresses end in a name that is reserved for that.
  if (!url || !/^https?:\/\//.test(url) || new URL(url).hostname.endsWith(".invalid")) return null;
  return [" · ", element("a", { href: url, rel: "noreferrer noopener", target: "_blank" }, say("its page on the web"))];
}

function whatIsMissing(recipe) {
  const texts = [];
  if (!recipe.hasText) texts.push(say("This release does not have the text of this recipe: boxes replace its characters, and word ids its names."));
  const wanted = recipe.view.objects.some((row) => row.before !== null || row.after !== null);
  if (wanted && recipe.data.pictures.length === 0) texts.push(say("The frames of this recipe are not here: pictures are shown by frame number only."));
  return texts.length ? element("p", { class: "notice" }, texts.join(" ")) : null;
}
