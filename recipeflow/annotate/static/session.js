// One recipe of one annotator as this page knows it: what the server confirmed, what is on its way, and the sum of
// both.

import { documentPath, getJson } from "./api.js";
import { Outbox } from "./outbox.js";
import { predict } from "./predict.js";

/** @import { AnnotatedDocument, Answer, Frames, Operation, QueuedOperation } from "./types.js" */
/** @import { Refusal } from "./api.js" */

const SUGGESTIONS_EVERY = 700;

/**
 * Read a recipe and follow it. `view` is what to draw; `onChange()` is called after every change of it or of the state
 * of saving.
 */
export class Session {
  /** @type {(layer: string, recipe: string) => Promise<Session>} */
  static async open(layer, recipe) {
    return new Session(layer, recipe, await getJson(documentPath(layer, recipe)));
  }

  /**
   * @param {string} layer
   * @param {string} recipe
   * @param {AnnotatedDocument} confirmed
   */
  constructor(layer, recipe, confirmed) {
    this.layer = layer;
    this.recipe = recipe;
    this.confirmed = confirmed;
    this.view = confirmed;
    this.onChange = () => {};
    this.closed = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.waiting = undefined;
    /** @type {(refusal: Refusal, operation: Operation) => void} */
    this.onRefusal = () => {};
    /** @type {(effects: Record<string, any>) => void} */
    this.onEffects = () => {};
    this.outbox = new Outbox(layer, recipe, {
      onAnswer: (answer) => this.learn(answer),
      onRefusal: (refusal, entry) => this.refused(refusal, entry),
      onChange: () => this.changed(),
    });
    this.look = () => this.refresh();
    this.warn = (event) => {
      if (!this.outbox.kept && this.outbox.queue.length) event.preventDefault();
    };
    document.addEventListener("visibilitychange", this.look);
    window.addEventListener("beforeunload", this.warn);
    window.addEventListener("online", this.look);
    this.predictAgain();
  }

  start() {
    this.outbox.start(this.confirmed.revision);
    this.awaitSuggestions();
  }

  /** Suggestions are computed in the background: as long as newer ones are on their way, look for them now and then. */
  awaitSuggestions() {
    clearTimeout(this.waiting);
    if (this.closed || !this.confirmed.suggesting?.working) return;
    this.waiting = setTimeout(() => this.fetchSuggestions(), SUGGESTIONS_EVERY);
  }

  /** An operation that is on its way brings suggestions with its answer; those for another revision are not shown. */
  async fetchSuggestions() {
    const found = await getJson(`${documentPath(this.layer, this.recipe)}/suggestions`).catch(() => null);
    if (this.closed) return;
    const known = this.confirmed.suggesting;
    if (found && !this.outbox.queue.length && found.revision === this.confirmed.revision) {
      this.confirmed = { ...this.confirmed, ...found };
      if (JSON.stringify(found.suggesting) !== JSON.stringify(known)) this.changed();
    }
    this.awaitSuggestions();
  }

  /**
   * Do one operation: it shows at once, and is saved when the server says so.
   *
   * @param {Operation} operation
   */
  do(operation) {
    this.outbox.add(operation);
    this.predictAgain();
    this.onChange();
  }

  undo() {
    if (this.canUndo) this.do({ op: "undo" });
  }

  redo() {
    if (this.canRedo) this.do({ op: "redo" });
  }

  get canUndo() {
    return this.confirmed.can_undo || this.outbox.queue.some((entry) => entry.operation.op !== "undo");
  }

  get canRedo() {
    return this.confirmed.can_redo || this.outbox.queue.some((entry) => entry.operation.op === "undo");
  }

  /** @param {Answer} answer */
  learn(answer) {
    this.confirmed = { ...this.confirmed, ...answer.document };
    this.predictAgain();
    this.awaitSuggestions();
    this.onEffects(answer.effects ?? {});
  }

  /** @type {(refusal: Refusal, entry: QueuedOperation) => void} */
  refused(refusal, entry) {
    this.predictAgain();
    this.onRefusal(refusal, entry.operation);
    this.onChange();
  }

  changed() {
    const { conflict } = this.outbox;
    if (conflict && this.confirmed.revision !== conflict.document.revision) {
      this.confirmed = { ...this.confirmed, ...conflict.document };
    }
    this.predictAgain();
    this.onChange();
  }

  /** @param {Frames} frames Of a film whose frames have appeared. */
  takeFrames(frames) {
    this.confirmed = { ...this.confirmed, frames };
    this.changed();
  }

  predictAgain() {
    this.view = predict(
      this.confirmed,
      this.outbox.queue.map((entry) => entry.operation),
    );
  }

  /**
   * Look again at what the server has, when this tab comes back to the front: another tab may have worked meanwhile.
   */
  async refresh() {
    if (document.visibilityState !== "visible") return;
    if (this.outbox.queue.length) {
      this.outbox.retryNow();
      return;
    }
    const found = await getJson(documentPath(this.layer, this.recipe)).catch(() => null);
    if (!found || this.outbox.queue.length || found.revision <= this.confirmed.revision) return;
    this.confirmed = found;
    this.outbox.revision = found.revision;
    this.awaitSuggestions();
    this.changed();
  }

  close() {
    this.closed = true;
    clearTimeout(this.waiting);
    this.outbox.close();
    document.removeEventListener("visibilitychange", this.look);
    window.removeEventListener("beforeunload", this.warn);
    window.removeEventListener("online", this.look);
  }
}
