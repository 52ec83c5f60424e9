// The index of all recipes, chunk after chunk: the gallery is of use with the first, the others follow by themselves.

import { foldText } from "./kana.js";
import { loadData } from "./loading.js";
import { hasWord, readSearch } from "./matching.js";

// The fields of an entry in the order in which recipeflow/explore/catalogue.py packs them.
const ENTRY_FIELDS = ["id", "title", "english", "cover", "ingredients", "verbs", "labels", "actions", "objects"];
const WORD_FIELDS = ["ingredients", "verbs", "labels"];

export class Catalogue {
  constructor() {
    this.recipes = [];
    this.numbers = new Map();
    this.english = new Map();
    this.problems = [];
    this.isWhole = false;
    this.failure = null;
    this.listeners = new Set();
  }

  /** Load all chunks, one after the other; listeners are called after each. */
  async loadAll() {
    try {
      for (let number = 0, more = true; more; number += 1) {
        const chunk = await loadData(`data/index/${number}`);
        this.add(chunk);
        more = chunk.more;
        this.notify();
        await pageLoaded();
      }
      this.isWhole = true;
    } catch (error) {
      this.failure = error;
    }
    this.notify();
  }

  add(chunk) {
    chunk.words.forEach((word, place) => chunk.english[place] && this.english.set(word, chunk.english[place]));
    for (const packed of chunk.recipes) {
      const entry = Object.fromEntries(ENTRY_FIELDS.map((field, place) => [field, packed[place]]));
      for (const field of WORD_FIELDS) entry[field] = entry[field].map((place) => chunk.words[place]);
      entry.number = this.recipes.length;
      entry.sought = this.soughtText(entry);
      entry.stems = new Set(entry.verbs.map(foldText));
      this.numbers.set(entry.id, entry.number);
      this.recipes.push(entry);
    }
    this.problems.push(...chunk.problems);
  }

  /** All that a search looks through: names in both languages, ingredients and verbs. */
  soughtText(entry) {
    const words = [...entry.ingredients, ...entry.verbs];
    const english = words.map((word) => this.english.get(word) ?? "");
    return foldText([entry.id, entry.title ?? "", entry.english ?? "", ...words, ...english].join("\n"));
  }

  /** Call `listener` whenever there is more; returns a function that ends it. */
  watch(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  notify() {
    for (const listener of [...this.listeners]) listener();
  }

  /** The entry of a recipe by its id, as soon as its chunk is there; null when there is none. */
  async find(id) {
    while (!this.numbers.has(id) && !this.isWhole && !this.failure) {
      /** @type {Promise<void>} */
      const more = new Promise((resolve) => {
        const stop = this.watch(() => {
          stop();
          resolve();
        });
      });
      await more;
    }
    return this.numbers.has(id) ? this.recipes[this.numbers.get(id)] : null;
  }

  /** Whether any recipe has text, and any a picture, among those loaded so far. */
  get hasText() {
    return this.recipes.some((entry) => entry.title !== null || entry.verbs.length > 0);
  }

  /** Whether any recipe has objects of actions; a corpus of text has none, and so lacks no pictures. */
  get hasObjects() {
    return this.recipes.some((entry) => entry.objects > 0);
  }

  get hasPictures() {
    return this.recipes.some((entry) => entry.cover !== null);
  }
}

/** The rest of the index waits until the page with the first of it is there: pictures come before more recipes. */
function pageLoaded() {
  if (document.readyState === "complete") return Promise.resolve();
  return new Promise((resolve) => window.addEventListener("load", resolve, { once: true }));
}

/** The entries that fit a search text and filters `{ingredient, verb, label}`, lists of words that must all be there. */
export function findRecipes(recipes, query, filters) {
  const words = readSearch(query);
  const fields = { ingredient: "ingredients", verb: "verbs", label: "labels" };
  const wanted = Object.entries(fields).flatMap(([kind, field]) => filters[kind].map((word) => [field, word]));
  return recipes.filter(
    (entry) => words.every((word) => hasWord(entry.sought, entry.stems, word)) && wanted.every(([field, word]) => entry[field].includes(word)),
  );
}

/** How many of these entries have each word of a field, most frequent first. */
export function countWords(entries, field) {
  const counts = new Map();
  for (const entry of entries) for (const word of entry[field]) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
