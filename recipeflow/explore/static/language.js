// The language of the explorer: English or Japanese, remembered in this browser. A sentence is its own key.

import { inJapanese } from "./japanese_text.js";
import { japaneseNames } from "./names.js";

const KEPT_LANGUAGE = "vrf-language";

/** The language in use, `en` or `ja`: the chosen one, else the browser's. */
function pageLanguage() {
  const kept = storedLanguage();
  if (kept === "en" || kept === "ja") return kept;
  return navigator.language.startsWith("ja") ? "ja" : "en";
}

/** A browser may refuse its storage to a page from a file. */
function storedLanguage() {
  try {
    return localStorage.getItem(KEPT_LANGUAGE);
  } catch {
    return null;
  }
}

function storeLanguage(code) {
  try {
    localStorage.setItem(KEPT_LANGUAGE, code);
  } catch {
    // Then the choice lasts as long as the page: there is nowhere to keep it.
  }
}

/**
 * A sentence in the language in use, with `{name}` replaced by values.
 *
 * @param {string} sentence
 * @param {Record<string, unknown>} values
 * @returns {string}
 */
export function say(sentence, values = {}) {
  const text = pageLanguage() === "ja" ? (inJapanese[sentence] ?? sentence) : sentence;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

export function tagNameOf(about, tag) {
  return (pageLanguage() === "ja" && japaneseNames.tags[tag]) || (about.tags[tag] ?? tag);
}

export function labelNameOf(about, label) {
  return (pageLanguage() === "ja" && japaneseNames.labels[label]) || (about.labels[label] ?? label);
}

/**
 * Put what is not drawn by a page into the language in use, and let a button change it.
 *
 * @param {HTMLElement} button
 * @param {HTMLElement} skip
 */
export function setPageLanguage(button, skip) {
  const other = pageLanguage() === "ja" ? "en" : "ja";
  document.documentElement.lang = pageLanguage();
  skip.textContent = say("Skip to the content");
  button.lang = other;
  button.textContent = other === "ja" ? "日本語" : "English";
  button.addEventListener("click", () => {
    storeLanguage(other);
    window.location.reload();
  });
}
