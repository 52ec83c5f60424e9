// Finding words as people write them: in other scripts and letters, and as dictionary forms of what recipes have.

import { foldText } from "./kana.js";
import { stemsOf } from "./stems.js";

/** @typedef {{ word: string, stems: string[] }} Wanted A word of a search, and the stems that it may be a form of. */

/**
 * The words of a search.
 *
 * @param {string} query
 * @returns {Wanted[]}
 */
export function readSearch(query) {
  return foldText(query)
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => ({ word, stems: stemsOf(word) }));
}

/**
 * Whether folded text has a word inside, or one of `stems` is a stem of it.
 *
 * @type {(sought: string, stems: Set<string>, wanted: Wanted) => boolean}
 */
export function hasWord(sought, stems, { word, stems: own }) {
  return sought.includes(word) || own.some((stem) => stems.has(stem));
}
