// All recipes as cards, with a search, filters, and pages of a few dozen.

import { countWords, findRecipes } from "./catalogue.js";
import { element, findAll, replaceContent } from "./dom.js";
import { labelNameOf, say } from "./language.js";
import { messageOf } from "./loading.js";
import { loadedPicture, missingPicture, pictureAddress } from "./picture.js";

const CARDS_ON_A_PAGE = 48;
const FILTERS = [
  { kind: "ingredient", field: "ingredients", name: "Ingredient" },
  { kind: "verb", field: "verbs", name: "Action" },
  { kind: "label", field: "labels", name: "Flow label" },
];

/** The gallery in `main`. `params` are the part of the address after `?`; returns a function that ends it. */
export function showGallery(main, { catalogue, about, params, announce }) {
  const gallery = new Gallery(catalogue, about, params, announce);
  replaceContent(main, gallery.parts());
  gallery.update();
  return catalogue.watch(() => gallery.update());
}

class Gallery {
  /** @type {HTMLInputElement} */
  search;
  /** @type {HTMLElement} */
  status;
  /** @type {HTMLElement} */
  notices;
  /** @type {HTMLElement} */
  chips;
  /** @type {HTMLElement} */
  grid;
  /** @type {HTMLElement} */
  pager;

  constructor(catalogue, about, params, announce) {
    this.catalogue = catalogue;
    this.about = about;
    this.announce = announce;
    this.query = params.get("q") ?? "";
    this.chosen = Object.fromEntries(FILTERS.map(({ kind }) => [kind, params.getAll(kind)]));
    this.page = Math.max(1, Number.parseInt(params.get("page") ?? "1", 10) || 1);
    this.selects = new Map();
  }

  parts() {
    this.search = element("input", { type: "search", id: "search", value: this.query, placeholder: say("Title, ingredient or action"), autocomplete: "off" });
    this.search.addEventListener("input", () => this.change(() => (this.query = this.search.value)));
    this.heading = element("h1", {}, say("Recipes"));
    this.status = element("p", { class: "soft", role: "status" });
    this.notices = element("div", { class: "notices" });
    this.chips = element("div", { class: "chosen-filters" });
    this.grid = element("ul", { class: "cards" });
    this.pager = element("nav", { class: "pager", "aria-label": say("Pages of the gallery") });
    return [
      element("div", { class: "gallery-head" }, element("div", {}, this.heading, this.status), element("search", { class: "finder" }, this.finder())),
      this.notices,
      this.chips,
      this.grid,
      this.pager,
    ];
  }

  finder() {
    const fields = FILTERS.map(({ kind, name }) => {
      const select = element("select", { id: `filter-${kind}` });
      select.addEventListener("change", () => this.change(() => select.value && this.chosen[kind].push(select.value)));
      const field = element("div", { class: "field" }, element("label", { for: `filter-${kind}` }, say(name)), select);
      this.selects.set(kind, { select, field });
      return field;
    });
    return [element("div", { class: "field wide" }, element("label", { for: "search" }, say("Search")), this.search), fields];
  }

  /** Take a change over, and keep it in the address, so that the way back leads here. */
  change(apply) {
    apply();
    this.page = 1;
    history.replaceState(null, "", this.address(1));
    const found = this.update();
    this.announce(say("{count} recipes found", { count: found }));
  }

  address(page) {
    const params = new URLSearchParams();
    if (this.query) params.set("q", this.query);
    for (const { kind } of FILTERS) for (const word of this.chosen[kind]) params.append(kind, word);
    if (page > 1) params.set("page", page);
    const query = params.toString();
    return query ? `#/?${query}` : "#/";
  }

  update() {
    const found = findRecipes(this.catalogue.recipes, this.query, this.chosen);
    const pages = Math.max(1, Math.ceil(found.length / CARDS_ON_A_PAGE));
    // A page of an address may lie in a chunk that is still to come.
    const page = this.catalogue.isWhole ? Math.min(this.page, pages) : this.page;
    const first = (page - 1) * CARDS_ON_A_PAGE;
    const shown = found.slice(first, first + CARDS_ON_A_PAGE);
    this.status.textContent = this.statusText(found.length);
    for (const filter of FILTERS) this.fillSelect(filter, found);
    replaceContent(this.chips, this.chosenChips());
    replaceContent(this.notices, this.noticeList(found.length));
    this.showCards(shown);
    replaceContent(this.pager, pages > 1 ? this.pagerParts(page, pages) : []);
    return found.length;
  }

  statusText(found) {
    const { recipes, isWhole } = this.catalogue;
    const [all, count] = [recipes.length.toLocaleString("en"), found.toLocaleString("en")];
    if (found !== recipes.length) return say(isWhole ? "{count} of {all}" : "{count} of {all} so far, loading more", { count, all });
    if (!isWhole) return say("{all} so far, loading more", { all });
    return say(found === 1 ? "{all} recipe" : "{all} recipes", { all });
  }

  wordName(kind, word) {
    const english = kind === "label" ? labelNameOf(this.about, word) : this.catalogue.english.get(word);
    return english ? `${word} ${english}` : word;
  }

  fillSelect({ kind, field, name }, found) {
    const { select, field: box } = this.selects.get(kind);
    const words = countWords(found, field).filter(([word]) => !this.chosen[kind].includes(word));
    const known = words.map(([word, count]) => `${word}${count}`).join("\n");
    // Only what no recipe has is left out: with nothing found, a filter has to be there to be changed.
    box.hidden = !this.catalogue.recipes.some((entry) => entry[field].length > 0);
    select.disabled = words.length === 0;
    if (select.dataset.known === known) return;
    select.dataset.known = known;
    const options = words.map(([word, count]) => element("option", { value: word }, `${this.wordName(kind, word)} (${count})`));
    replaceContent(select, element("option", { value: "" }, say(`Any ${name.toLowerCase()}`)), options);
  }

  chosenChips() {
    return FILTERS.flatMap(({ kind, name }) =>
      this.chosen[kind].map((word) => {
        const shown = this.wordName(kind, word);
        const chip = element("button", { type: "button", class: "chip", "aria-label": say("Remove the filter {name}: {shown}", { name: say(name), shown }) }, shown, element("span", { "aria-hidden": "true" }, "×"));
        chip.addEventListener("click", () => this.change(() => (this.chosen[kind] = this.chosen[kind].filter((each) => each !== word))));
        return chip;
      }),
    );
  }

  noticeList(found) {
    const { catalogue } = this;
    const texts = [];
    const lacks = [
      catalogue.hasText ? null : say("These annotations come without the recipes' text, for which word ids stand in."),
      catalogue.hasPictures || !catalogue.hasObjects ? null : say("These annotations come without frames, so that no pictures can be shown."),
    ].filter(Boolean);
    if (catalogue.recipes.length > 0 && lacks.length > 0) {
      texts.push(element("p", { class: "notice" }, `${lacks.join(" ")} `, element("code", {}, "vrf download"), say(" fetches those of the official release.")));
    }
    if (catalogue.failure) texts.push(element("p", { class: "notice" }, say("The index could not be loaded to its end: {reason}.", { reason: messageOf(catalogue.failure) })));
    if (catalogue.problems.length > 0) {
      const summary = element("summary", {}, say("{count} problems: recipes that have them are left out", { count: catalogue.problems.length }));
      texts.push(element("details", { class: "notice" }, summary, element("ul", {}, catalogue.problems.map((text) => element("li", {}, text)))));
    }
    if (found === 0 && catalogue.isWhole) texts.push(element("p", { class: "notice" }, say("No recipe fits. Take a filter away, or search for less.")));
    return texts;
  }

  /** Cards that are there already stay, with their pictures. */
  showCards(entries) {
    this.grid.classList.toggle("plain", !this.catalogue.hasPictures);
    const old = new Map(findAll(this.grid, "[data-recipe]").map((card) => [card.dataset.recipe, card]));
    this.grid.replaceChildren(...entries.map((entry) => old.get(entry.id) ?? this.card(entry)));
  }

  card(entry) {
    const cover =
      entry.cover === null ? missingPicture(say("no picture"), say("there is no picture of this recipe")) : loadedPicture(pictureAddress(entry.number, entry.cover, this.about.stamp), "");
    const title = element("span", { class: "card-title", lang: entry.title ? this.about.language : null }, entry.title || entry.id);
    const english = entry.english ? element("span", { class: "card-english" }, entry.english) : null;
    const facts = element("span", { class: "card-facts" }, say("{actions} actions · {objects} objects", entry));
    return element("li", { data: { recipe: entry.id } }, element("a", { class: "card", href: `#/recipe/${encodeURIComponent(entry.id)}` }, cover, title, english, facts));
  }

  pagerParts(page, pages) {
    const near = new Set([1, pages, page - 1, page, page + 1].filter((number) => number >= 1 && number <= pages));
    const numbers = [...near].sort((a, b) => a - b);
    const links = numbers.flatMap((number, i) => {
      const gap = i > 0 && number > numbers[i - 1] + 1 ? [element("span", { class: "soft" }, "…")] : [];
      const current = number === page ? "page" : null;
      return [...gap, element("a", { class: "button", href: this.address(number), "aria-current": current, "aria-label": say("Page {number}", { number }) }, number)];
    });
    const step = (to, word) => (to >= 1 && to <= pages ? element("a", { class: "button", href: this.address(to) }, word) : null);
    return [step(page - 1, say("Previous")), links, step(page + 1, say("Next"))];
  }
}
