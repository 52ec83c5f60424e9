// A recipe as the paper's Figure 2 shows it: words with their entities, flows as arcs, and each action's image pairs beside them.

import { ArcLayer, labelFilter } from "./arcs.js";
import { element, findAll, replaceContent } from "./dom.js";
import { say } from "./language.js";
import { recipeText } from "./words.js";

/** @import { ShownRecipe } from "./recipe_page.js" */
/** @import { Pair } from "./types.js" */

const SECTION_NAMES = { ingredients: "Ingredients", instructions: "Instructions" };

/** Show the view in `body`; returns a function that ends it. */
export function showFlows(body, recipe, { announce }) {
  const view = new FlowView(recipe, announce);
  replaceContent(body, view.parts());
  view.draw();
  const observer = new ResizeObserver(() => view.draw());
  observer.observe(view.host);
  return () => observer.disconnect();
}

class FlowView {
  /** @type {HTMLElement} */
  text;
  /** @type {ArcLayer} */
  arcs;
  /** @type {HTMLElement} */
  note;
  /** @type {HTMLElement} */
  pairs;

  /**
   * @param {ShownRecipe} recipe
   * @param {(text: string) => void} announce
   */
  constructor(recipe, announce) {
    this.recipe = recipe;
    this.announce = announce;
    this.pinned = null;
    this.host = element("div", { class: "arc-host" });
    this.groups = new Map();
  }

  parts() {
    const { recipe } = this;
    const used = new Set(recipe.view.flows.map((flow) => flow.label));
    const labels = Object.keys(recipe.about.labels).filter((label) => used.has(label));
    this.text = recipeText(recipe.view, { heading: (name) => say(SECTION_NAMES[name]), entityProps: (entity) => this.entityProps(entity) });
    this.host.append(this.text);
    this.arcs = new ArcLayer(this.host);
    const filter = labelFilter(labels, { nameLabel: (label) => recipe.labelName(label), onChange: (shown) => this.arcs.filter(shown) });
    filter.setAttribute("aria-label", say("Flow labels to show"));
    this.listen(this.text);
    this.note = element("p", { class: "lit-note soft" }, this.hint());
    this.pairs = element("div", { class: "pair-list", tabindex: "0", role: "region", "aria-label": say("Image pairs by action") }, this.pairGroups());
    this.listen(this.pairs);
    const textPanel = element("section", { class: "panel text-panel", "aria-label": say("The recipe") }, element("div", { class: "text-tools" }, this.englishSwitch(), filter), this.host, tagKey(recipe));
    const pairPanel = element("section", { class: "panel pair-panel", "aria-label": say("Before and after") }, element("h2", {}, say("Before and after each action")), this.note, this.pairs);
    return [textPanel, pairPanel];
  }

  hint() {
    return say("Point at an action, or reach it with the Tab key, to see what it is done to. Enter keeps it.");
  }

  englishSwitch() {
    if (this.recipe.english.size === 0) return null;
    const box = element("input", { type: "checkbox", checked: true });
    const apply = () => {
      this.text.classList.toggle("with-english", box.checked);
      this.draw();
    };
    box.addEventListener("change", apply);
    this.text.classList.add("with-english");
    return element("label", { class: "switch" }, box, say("English"));
  }

  entityProps(entity) {
    const english = this.recipe.englishOf(entity.id);
    const props = { data: english === null ? {} : { english }, title: this.recipe.tagName(entity.tag) };
    if (entity.tag !== "Ac") return props;
    const label = say("{name}, action", { name: this.recipe.plainName(entity.id) });
    return { ...props, tabindex: "0", role: "button", "aria-pressed": "false", "aria-label": label };
  }

  pairGroups() {
    const byAction = new Map();
    for (const row of this.recipe.view.objects) byAction.set(row.action, [...(byAction.get(row.action) ?? []), row]);
    const actions = this.recipe.view.entities.filter((entity) => entity.tag === "Ac");
    return actions.map((action) => this.pairGroup(action.id, byAction.get(action.id) ?? []));
  }

  pairGroup(action, rows) {
    const { recipe } = this;
    const head = element("h3", { class: "pair-action" }, element("span", { class: "entity tag-Ac" }, recipe.nameParts(action)), element("span", { class: "soft" }, recipe.placeOf(action)));
    const pairs = rows.map((row) => imagePair(recipe, row));
    const empty = rows.length === 0 ? element("p", { class: "soft" }, say("No object was annotated.")) : null;
    const group = element("section", { class: "pair-group", data: { action } }, head, element("div", { class: "pairs" }, pairs), empty);
    this.groups.set(action, group);
    return group;
  }

  /** Light up what is pointed at or has the keyboard; a click or Enter keeps an action lit. */
  listen(part) {
    const actionOf = (target) => {
      const found = target.closest("[data-entity], [data-action]");
      return found && part.contains(found) ? (found.dataset.action ?? found.dataset.entity) : null;
    };
    const fromText = part === this.text;
    part.addEventListener("pointerover", (event) => this.light(actionOf(event.target) ?? this.pinned, fromText));
    part.addEventListener("pointerleave", () => this.light(this.pinned, false));
    part.addEventListener("focusin", (event) => this.light(actionOf(event.target) ?? this.pinned, fromText));
    part.addEventListener("focusout", () => this.light(this.pinned, false));
    part.addEventListener("click", (event) => this.pin(actionOf(event.target), fromText));
    part.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.pin(null, fromText);
      if (event.key !== "Enter" && event.key !== " ") return;
      if (event.target.getAttribute("role") !== "button") return;
      event.preventDefault();
      this.pin(actionOf(event.target), fromText);
    });
  }

  pin(id, fromText) {
    const isAction = id !== null && id in this.recipe.data.lights;
    this.pinned = isAction && id !== this.pinned ? id : null;
    for (const span of findAll(this.text, '[role="button"]')) span.setAttribute("aria-pressed", String(span.dataset.entity === this.pinned));
    this.light(this.pinned, fromText);
    if (this.pinned) this.announce(this.note.textContent);
  }

  light(id, scrolls) {
    if (id === this.lit) return;
    this.lit = id;
    const lights = id === null ? null : (this.recipe.data.lights[id] ?? null);
    const roles = new Map();
    if (lights) {
      for (const each of lights.origins) roles.set(each, "lit-origin");
      for (const each of lights.through) roles.set(each, "lit-through");
      for (const each of lights.objects) roles.set(each, "lit-object");
    }
    if (id !== null) roles.set(id, lights ? "lit-action" : "lit-object");
    this.text.classList.toggle("lit", id !== null);
    for (const span of findAll(this.text, "[data-entity]")) {
      span.classList.remove("lit-action", "lit-object", "lit-through", "lit-origin");
      if (roles.has(span.dataset.entity)) span.classList.add(roles.get(span.dataset.entity));
    }
    this.arcs.focus(id === null ? null : this.litFlow(id, lights));
    for (const [action, group] of this.groups) group.classList.toggle("lit", action === id);
    replaceContent(this.note, lights ? this.noteParts(id, lights) : this.hint());
    if (scrolls && lights) this.scrollTo(this.groups.get(id));
  }

  /** Of an action: the flows into it, and those between it and its objects. Of any other entity: its own flows. */
  litFlow(id, lights) {
    if (!lights) return (flow) => flow.start === id || flow.end === id;
    const near = new Set([id, ...lights.through, ...lights.objects]);
    return (flow) => flow.end === id || (near.has(flow.start) && near.has(flow.end));
  }

  noteParts(id, lights) {
    const { recipe } = this;
    const names = (ids) => ids.map((each, i) => [i ? ", " : "", element("strong", {}, recipe.nameParts(each))]);
    if (lights.objects.length === 0) return [element("strong", {}, recipe.nameParts(id)), say(" has no object in the flow graph.")];
    const origins = lights.origins.filter((each) => !lights.objects.includes(each));
    const from = origins.length ? [say(" From the list: "), names(origins), say(".")] : [];
    return [element("strong", {}, recipe.nameParts(id)), say(" is done to "), names(lights.objects), say("."), from];
  }

  scrollTo(group) {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const top = group.offsetTop - this.pairs.offsetTop - 8;
    this.pairs.scrollTo({ top, behavior: calm ? "auto" : "smooth" });
  }

  draw() {
    this.arcs.draw(this.recipe.view.flows);
  }
}

/**
 * One object before and after an action.
 *
 * @param {ShownRecipe} recipe
 * @param {Pair} row
 */
export function imagePair(recipe, row) {
  const name = row.object === null ? say("an object") : recipe.plainName(row.object);
  const caption = row.object === null ? say("unnamed object") : recipe.nameParts(row.object);
  const verb = recipe.plainName(row.action);
  return element(
    "figure",
    { class: row.before === null && row.after === null ? "pair unseen" : "pair" },
    element("div", { class: "pair-pictures" }, recipe.pictures.make(row.before, say("{name} before: {verb}", { name, verb })), element("span", { class: "pair-arrow", "aria-hidden": "true" }, "→"), recipe.pictures.make(row.after, say("{name} after: {verb}", { name, verb }))),
    element("figcaption", {}, caption),
  );
}

/** @param {ShownRecipe} recipe */
function tagKey(recipe) {
  const used = new Set(recipe.view.entities.map((entity) => entity.tag));
  const tags = Object.keys(recipe.about.tags).filter((tag) => used.has(tag));
  return element("ul", { class: "tag-key", "aria-label": say("Colours of the entities") }, tags.map((tag) => element("li", {}, element("span", { class: `entity tag-${tag}` }, tag), recipe.tagName(tag))));
}
