// The language of the interface: English or Japanese, remembered in this browser.

import { japaneseNames } from "/shared/names.js";

import { english } from "./english.js";
import { japanese } from "./japanese.js";

const DICTIONARIES = { en: english, ja: japanese };
const KEPT = "vrf-language";

/** @type {{ tags: Record<string, string>, labels: Record<string, string> }} */
let englishNames = { tags: {}, labels: {} };

/** The language in use, `en` or `ja`. */
export function language() {
  const kept = localStorage.getItem(KEPT);
  if (kept !== null && kept in DICTIONARIES) return kept;
  return navigator.language.startsWith("ja") ? "ja" : "en";
}

export function setLanguage(code) {
  localStorage.setItem(KEPT, code);
  document.documentElement.lang = code;
}

/**
 * A sentence of the interface, with `{name}` replaced by values.
 *
 * @param {string} key
 * @param {Record<string, unknown>} values
 * @returns {string}
 */
export function t(key, values = {}) {
  const sentence = DICTIONARIES[language()][key] ?? english[key] ?? key;
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** Take the English names of tags and labels over from the server, which has the only list of them. */
export function learnNames({ tags, labels }) {
  englishNames = { tags, labels };
}

export function tagName(id) {
  return nameOf("tags", id);
}

export function labelName(id) {
  return nameOf("labels", id);
}

function nameOf(kind, id) {
  const names = language() === "ja" ? japaneseNames : englishNames;
  return names[kind][id] ?? englishNames[kind][id] ?? id;
}

/** Whether the interface has a sentence of this name. */
export function hasSentence(key) {
  return key in english;
}
