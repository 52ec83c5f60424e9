// The shapes of what the server sends to every page, for the type checker: recipeflow/web/views.py makes them.

/**
 * @typedef {{ id: string, text: string | null, start: number, end: number }} Word
 * @typedef {{ text: string | null, words: Word[] }} Line
 * @typedef {{ name: string, lines: Line[] }} Section
 *
 * @typedef {{ section: number, line: number, start: number, end: number }} Span Words `start` up to, not including,
 *   `end` of a line.
 *
 * @typedef {Span & { id: string, tag: string, text: string | null }} Entity A run of words with a tag; the id is that
 *   of its first word.
 *
 * @typedef {{ start: string, end: string, label: string }} Flow From one entity to another, by their ids.
 *
 * @typedef {{ action: string, object: string | null, before: number | null, after: number | null }} Pair The frames
 *   before and after an action, for one of its objects.
 *
 * @typedef {{ language?: string, sections: Section[], entities: Entity[] }} TextView The part of a recipe that is drawn
 *   as text.
 *
 * @typedef {TextView & { id: string, title: string | null, url: string | null, flows: Flow[], objects: Pair[] }} RecipeView
 *
 * @typedef {{ left: number, top: number, right: number, bottom: number }} Box In pixels.
 *
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Child | Children[]} Children What can be put into an element; lists are unpacked.
 *
 * @typedef {Record<string, any>} Props Attributes of an element by name, and `class`, `data` and `on`.
 */

export {};
