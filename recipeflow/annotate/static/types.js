// The shapes of what the annotation server sends and takes, for the type checker: recipeflow/annotate/views.py makes
// the document, recipeflow/annotate/operations.py reads the operations.

/** @import { Entity, Flow, Section } from "/shared/types.js" */

/**
 * @typedef {number | "none" | null} FrameChoice The number of a frame, "none" where no frame shows it, null where
 *   it was not looked at yet.
 *
 * @typedef {{ origin: string | null, pending?: boolean }} Made Where something comes from (null: a person made it), and
 *   whether the server has still to confirm it.
 *
 * @typedef {Entity & Made} AnnotatedEntity
 * @typedef {Flow & Made} AnnotatedFlow
 * @typedef {{ key: string, action: string, object: string | null, before: FrameChoice, after: FrameChoice,
 *   traced: boolean, offer: number | null } & Made} AnnotatedPair
 *
 * @typedef {{ action: string, linked: boolean, traced: string[] }} Action Whether its list of objects follows the
 *   flows, and which objects these lead to.
 *
 * @typedef {{ words: boolean, flows: boolean, frames: boolean }} Done
 *
 * @typedef {{ url: string, columns: number, rows: number, width: number, height: number, count: number }} Sheets
 * @typedef {{ count: number, numbers: number[], interval: number, width: number, height: number, stamp: string,
 *   sheets: Sheets }} Frames
 *
 * @typedef {{ state: "none" | "waiting" | "sampling" | "ready" | "failed", frames: number, of: number,
 *   reason: string | null, notes: string[], received: number, size: number, view: Frames | null }} FilmState How far
 *   the film of a recipe is: bytes that have arrived, frames that are sampled.
 *
 * @typedef {{ key: string, kind: "entity" | "flow" | "image", item: any,
 *   confidence?: number }} Item One decision of an annotation; how sure it is, if it was computed.
 * @typedef {{ number: number, working: boolean, problem: string | null }} Suggesting Whether newer suggestions are
 *   being computed, and what went wrong.
 * @typedef {Item & { origin: string, state: "pending" | "rejected", clash: string | null }} Suggestion
 *
 * @typedef {{ target: string, unsure: boolean, text: string }} Note What the annotator says about an entity
 *   (`ne:1-0-5`), a flow (`fg:0-0-0>1-0-5:Targ`) or an image (`im:1-0-5/0-0-0:before`).
 *
 * @typedef {{ section: number, line: number, ends: number[] }} Division A line, and where each of its words ends.
 *
 * @typedef {{ op: string, [field: string]: any }} Operation
 *
 * @typedef {object} AnnotatedDocument One recipe in one layer.
 * @property {string} id
 * @property {string | null} title
 * @property {string | null} url
 * @property {Section[]} sections
 * @property {string} layer
 * @property {Frames | null} frames
 * @property {number} revision
 * @property {boolean} can_undo
 * @property {boolean} can_redo
 * @property {Operation | null} undo What undo would take back.
 * @property {Operation | null} redo
 * @property {AnnotatedEntity[]} entities
 * @property {AnnotatedFlow[]} flows
 * @property {AnnotatedPair[]} objects The pairs of all actions.
 * @property {Action[]} actions
 * @property {string[]} unconnected The entities without a flow.
 * @property {Done} done
 * @property {Note[]} notes
 * @property {string} language
 * @property {Record<string, any>} progress
 * @property {Suggestion[]} suggestions
 * @property {Suggesting | null} suggesting
 *
 * @typedef {Record<string, (doc: AnnotatedDocument, operation: any) => void>} Predictions What operations do, by name.
 *
 * @typedef {{ revision: number, repeated: boolean, effects: Record<string, any>, document: AnnotatedDocument }} Answer
 *
 * @typedef {object} Server What the server says of itself.
 * @property {string | null} release
 * @property {{ name: string, kind: string }[]} layers
 * @property {string | null} annotator
 * @property {boolean} curating
 * @property {boolean} editing Whether recipes may be added, changed and deleted.
 * @property {number} recipes How many there are.
 * @property {string[]} origins
 * @property {string} language The code of the language that the recipes are written in.
 * @property {Record<string, string>} tags Their English names by tag, in the paper's order.
 * @property {Record<string, string>} labels
 * @property {Record<string, string[]>} likely
 *
 * @typedef {{ page: string, layer: string | null, first: string | null, second: string | null, guided: boolean,
 *   at?: string | null, recipe?: string, step?: string }} Route
 *
 * @typedef {{ close(): void, follow?(route: Route): boolean }} Page
 *
 * @typedef {{ root: HTMLElement, server: Server, page: Page | null, turn: number, restart(): void, route: Route }} App
 *
 * @typedef {{ uuid: string, operation: Operation, base: number | null, key: string }} QueuedOperation
 * @typedef {{ theirs: { operation: Operation, time: string }[], mine: Operation, document: AnnotatedDocument }} Conflict
 */

export {};
