// Operations on their way to the server. Each is kept in the browser's storage from the click until the server has
// said that it is on the disk, so that neither a dead server nor a closed tab loses one. Sending one twice is
// harmless: the server knows it by its uuid.

import { Refusal, documentPath, postJson } from "./api.js";

/** @import { Answer, Conflict, Operation, QueuedOperation } from "./types.js" */

const PREFIX = "vrf-unsent";
const FIRST_WAIT = 500;
const LONGEST_WAIT = 8000;
/** @type {Record<string, string>} */
const ENDPOINTS = { undo: "undo", redo: "redo" };

function prefixOf(layer, recipe) {
  return `${PREFIX}/${encodeURIComponent(layer)}/${encodeURIComponent(recipe)}/`;
}

/**
 * How many unsent operations the storage holds, by recipe, for one layer.
 *
 * @param {string} layer
 * @returns {Map<string, number>}
 */
export function countUnsent(layer) {
  const counts = new Map();
  for (const key of Object.keys(localStorage)) {
    const [prefix, owner, recipe] = key.split("/");
    if (prefix !== PREFIX || decodeURIComponent(owner) !== layer) continue;
    counts.set(decodeURIComponent(recipe), (counts.get(decodeURIComponent(recipe)) ?? 0) + 1);
  }
  return counts;
}

/**
 * The queue of one recipe of one layer. `state` is one of "saved", "saving", "waiting" (for the server) and
 * "conflict".
 */
export class Outbox {
  /**
   * @param {string} layer
   * @param {string} recipe
   * @param {object} handlers
   * @param {(answer: Answer, entry: QueuedOperation) => void} handlers.onAnswer
   * @param {(refusal: Refusal, entry: QueuedOperation) => void} handlers.onRefusal
   * @param {() => void} handlers.onChange
   */
  constructor(layer, recipe, { onAnswer, onRefusal, onChange }) {
    this.layer = layer;
    this.recipe = recipe;
    this.handlers = { onAnswer, onRefusal, onChange };
    /** @type {"saved" | "saving" | "waiting" | "conflict"} */
    this.state = "saved";
    /** @type {number | null} */
    this.revision = null;
    /** @type {Conflict | null} */
    this.conflict = null;
    this.kept = true;
    this.wait = FIRST_WAIT;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.closed = false;
    this.queue = this.readStored();
    this.last = Number.parseInt(this.queue.at(-1)?.key.split("/").at(-1) ?? "0", 10);
  }

  /**
   * Begin: send what an earlier visit left behind. `revision` is that of the document as it was just read.
   *
   * @param {number | null} revision
   */
  start(revision) {
    this.revision = revision;
    if (this.queue.length) this.pump();
  }

  /**
   * Put an operation (or {op: "undo"} and {op: "redo"}) at the end of the queue.
   *
   * @param {Operation} operation
   */
  add(operation) {
    const uuid = crypto.randomUUID?.() ?? randomName();
    // Names sort in the order of the clicks, even if the clock was set back meanwhile.
    this.last = Math.max(Date.now(), this.last + 1);
    const key = `${prefixOf(this.layer, this.recipe)}${String(this.last).padStart(15, "0")}-${uuid}`;
    const entry = { uuid, operation, base: this.queue.length ? null : this.revision, key };
    this.queue.push(entry);
    this.store(entry);
    this.pump();
  }

  /** After a conflict: send mine on top of what is there now. */
  insist() {
    if (!this.conflict) return;
    this.rebase(this.queue[0], this.revision);
    this.resume();
  }

  /** After a conflict: leave the first of mine out. */
  yield() {
    if (!this.conflict) return;
    this.drop(this.queue[0]);
    this.resume();
  }

  retryNow() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.wait = FIRST_WAIT;
    this.pump();
  }

  /** Stop sending from here; what is unsent stays in the storage for the next visit. */
  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }

  resume() {
    this.conflict = null;
    this.state = "saved";
    this.pump();
    this.handlers.onChange();
  }

  async pump() {
    if (this.closed || this.conflict || this.state === "saving") return;
    clearTimeout(this.timer);
    while (this.queue.length && !this.closed) {
      const entry = this.queue[0];
      if (entry.base === null) this.rebase(entry, this.revision);
      this.change("saving");
      try {
        this.accept(entry, await this.post(entry));
      } catch (problem) {
        if (!this.handle(entry, problem)) return;
      }
    }
    this.change("saved");
  }

  post({ uuid, operation, base }) {
    const endpoint = ENDPOINTS[operation.op];
    const body = endpoint ? { uuid, base } : { uuid, base, operation };
    return postJson(`${documentPath(this.layer, this.recipe)}/${endpoint ?? "operations"}`, body);
  }

  /** @type {(entry: QueuedOperation, answer: Answer) => void} */
  accept(entry, answer) {
    this.wait = FIRST_WAIT;
    this.revision = answer.revision;
    // The next one gets its base before this one is forgotten: a tab that dies between the two leaves no gap.
    if (this.queue[1]) this.rebase(this.queue[1], answer.revision);
    this.drop(entry);
    this.handlers.onAnswer(answer, entry);
  }

  /**
   * Whether to continue with the next entry.
   *
   * @type {(entry: QueuedOperation, problem: unknown) => boolean}
   */
  handle(entry, problem) {
    if (problem instanceof Refusal && problem.code === "conflict") {
      this.revision = problem.detail.revision;
      this.conflict = { theirs: problem.body.operations, mine: entry.operation, document: problem.body.document };
      this.change("conflict");
      return false;
    }
    if (problem instanceof Refusal && problem.final) {
      if (this.queue[1]?.base === null) this.rebase(this.queue[1], entry.base);
      this.drop(entry);
      this.handlers.onRefusal(problem, entry);
      return true;
    }
    if (!(problem instanceof Error)) throw problem;
    this.change("waiting");
    this.timer = setTimeout(() => this.pump(), this.wait);
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
    return false;
  }

  /** @param {"saved" | "saving" | "waiting" | "conflict"} state */
  change(state) {
    this.state = state;
    this.handlers.onChange();
  }

  /** @type {(entry: QueuedOperation, base: number | null) => void} */
  rebase(entry, base) {
    entry.base = base;
    this.store(entry);
  }

  /** @param {QueuedOperation} entry */
  drop(entry) {
    this.queue = this.queue.filter((other) => other !== entry);
    localStorage.removeItem(entry.key);
  }

  /** @param {QueuedOperation} entry */
  store(entry) {
    try {
      localStorage.setItem(entry.key, JSON.stringify(entry));
      this.kept = true;
    } catch {
      this.kept = false; // the storage is full or forbidden: the page says so, and warns before it is closed
    }
  }

  /** @returns {QueuedOperation[]} */
  readStored() {
    const prefix = prefixOf(this.layer, this.recipe);
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(prefix));
    return keys.sort().map((key) => ({ ...JSON.parse(localStorage.getItem(key) ?? "null"), key }));
  }
}

/** A unique id, if the page is not served securely and randomUUID is therefore missing. */
function randomName() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Send what earlier visits left unsent of other recipes, in the background; what conflicts waits until its recipe is
 * opened.
 */
export function sendLeftovers(layer, onChange) {
  return [...countUnsent(layer).keys()].map((recipe) => {
    const box = new Outbox(layer, recipe, { onAnswer: onChange, onRefusal: () => {}, onChange });
    box.start(null);
    return box;
  });
}
