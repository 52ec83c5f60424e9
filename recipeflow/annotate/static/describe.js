// Operations and refusals in words, for tooltips, conflicts and notices.

import { shownEntity, shownWords } from "/shared/words.js";

import { Refusal } from "./api.js";
import { hasSentence, t } from "./language.js";

/** @import { Span, TextView } from "/shared/types.js" */
/** @import { AnnotatedDocument, FrameChoice, Operation } from "./types.js" */

/**
 * The text of an entity of a document, or its id where the document has it no more.
 *
 * @param {TextView} view
 * @param {string | null | undefined} id
 */
export function entityText(view, id) {
  if (id === null || id === undefined) return t("object.unnamed");
  const entity = view.entities.find((each) => each.id === id);
  return entity ? shownEntity(view, entity) : id;
}

/**
 * The text of words `start` to `end` of a line.
 *
 * @param {TextView} view
 * @param {Span} span
 */
export function wordsText(view, { section, line, start, end }) {
  const words = view.sections[section]?.lines[line]?.words.slice(start, end) ?? [];
  return shownWords(words);
}

/**
 * One operation as a short sentence.
 *
 * @param {AnnotatedDocument} view
 * @param {Operation} operation
 */
export function describeOperation(view, operation) {
  const values = { ...operation };
  for (const name of ["entity", "start", "end", "object", "action"]) {
    if (typeof operation[name] === "string") values[name] = entityText(view, operation[name]);
  }
  if (operation.op === "tag") values.text = wordsText(view, /** @type {any} */ (operation));
  if (operation.key) values.what = pairText(view, operation.key);
  if (operation.op === "frame") values.value = sideText(operation.value);
  if (operation.side) values.side = t(`side.${operation.side}`);
  if (operation.step) values.step = t(`step.${operation.step}`);
  if (operation.target) values.what = targetText(view, operation.target);
  const several = [operation.items, operation.keys, operation.changes, operation.entities, operation.flows];
  values.count = several.find(Array.isArray)?.length ?? 0;
  const name = operation.op === "done" && !operation.done ? "op.undone" : `op.${operation.op}`;
  return hasSentence(name) ? t(name, values) : operation.op;
}

/**
 * `action / object` of a pair, by its key.
 *
 * @param {AnnotatedDocument} view
 * @param {string} key
 */
export function pairText(view, key) {
  const found = view.objects.find((pair) => pair.key === key);
  return found ? `${entityText(view, found.action)} / ${entityText(view, found.object)}` : key;
}

/**
 * What a note is about: a word, a flow or a pair.
 *
 * @param {AnnotatedDocument} view
 * @param {string} target
 */
export function targetText(view, target) {
  const [kind, rest] = [target.slice(0, 2), target.slice(3)];
  if (kind === "ne") return entityText(view, rest);
  if (kind === "im") return pairText(view, rest.replace(/:(before|after)$/, ""));
  const [, start, end, label] = /^([^>]*)>([^:]*):(.*)$/s.exec(rest) ?? [];
  return `${entityText(view, start)} → ${entityText(view, end)} ${label}`;
}

/**
 * A frame number, "not visible" or "not set".
 *
 * @param {FrameChoice | undefined} value
 */
export function sideText(value) {
  if (value === null || value === undefined) return t("frame.unset");
  return value === "none" ? t("frame.none") : t("frame.number", { number: value });
}

/**
 * Why the server refused, in the language of the interface.
 *
 * @param {TextView} view
 * @param {{ code: string, detail: Record<string, any>, message: string }} refusal
 */
export function describeRefusal(view, refusal) {
  const detail = { ...refusal.detail };
  for (const name of ["entity", "start", "end", "object", "action"]) {
    if (typeof detail[name] === "string") detail[name] = entityText(view, detail[name]);
  }
  if (Array.isArray(detail.path)) detail.path = detail.path.map((id) => entityText(view, id)).join(" → ");
  const name = `refused.${refusal.code}`;
  return hasSentence(name) ? t(name, detail) : refusal.message;
}

/**
 * What went wrong while nothing was drawn yet.
 *
 * @param {unknown} problem
 */
export function describeProblem(problem) {
  if (problem instanceof Refusal) return describeRefusal({ sections: [], entities: [] }, problem);
  return problem instanceof Error ? problem.message : String(problem);
}
