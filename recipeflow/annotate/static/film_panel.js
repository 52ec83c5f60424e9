// The film of a recipe that has no frames yet: a place to drop one, how far its upload and its frames are.

import { element, replaceContent } from "/shared/dom.js";

import { getJson } from "./api.js";
import { describeProblem } from "./describe.js";
import { currentUpload, startUpload } from "./film_upload.js";
import { t } from "./language.js";

/** @import { FilmState, Frames } from "./types.js" */

const LOOK_AGAIN = 1000;

/**
 * A field for a film, by choice or by dropping it anywhere on the field.
 *
 * @type {(onFile: (file: File) => void) => HTMLElement}
 */
export function filmField(onFile) {
  const input = element("input", { type: "file", id: "film-file", accept: "video/mp4,.mp4,.m4v,.mov" });
  const chosen = element("span", { class: "soft film-name" });
  const take = (file) => {
    if (!file) return;
    replaceContent(chosen, t("film.chosen", { size: megabytes(file.size) }));
    onFile(file);
  };
  input.addEventListener("change", () => take(input.files?.[0]));
  const field = element(
    "div",
    { class: "film-drop" },
    element("label", { for: "film-file" }, t("film.drop")),
    input,
    chosen,
  );
  const mark = (over) => (event) => {
    event.preventDefault();
    field.classList.toggle("over", over);
  };
  field.addEventListener("dragover", mark(true));
  field.addEventListener("dragleave", mark(false));
  field.addEventListener("drop", (event) => {
    mark(false)(event);
    if (!event.dataTransfer?.files.length) return;
    input.files = event.dataTransfer.files; // so that the field shows the name
    take(input.files[0]);
  });
  return field;
}

/** A number of bytes in megabytes, as people read it. */
export function megabytes(bytes) {
  return (bytes / 1e6).toFixed(bytes < 1e6 ? 2 : bytes < 1e7 ? 1 : 0);
}

/** What a state of a film is in words; null where there is nothing to say. */
export function filmSentence({ state, frames, of, reason }) {
  if (state === "waiting") return t("film.waiting");
  if (state === "sampling") return t("film.sampling", { frames, of });
  return state === "failed" ? t("film.failed", { reason }) : null;
}

export class FilmPanel {
  /**
   * @param {string} recipe
   * @param {boolean} editing Whether a film may be added.
   * @param {(frames: Frames) => void} onReady Called with the frames once they are there.
   */
  constructor(recipe, editing, onReady) {
    this.recipe = recipe;
    this.editing = editing;
    this.onReady = onReady;
    this.element = element("div", { class: "film-panel", role: "status" });
    this.closed = false;
    this.askField = false;
    /** @type {FilmState | null} */
    this.film = null;
    this.follow(currentUpload(recipe));
    this.look();
  }

  /** Show the field for a film too, where there is none. */
  offer(wanted) {
    this.askField = wanted;
    this.draw();
  }

  follow(upload) {
    this.upload = upload;
    if (upload) {
      upload.onChange = () => {
        this.draw();
        if (upload.state === "done") this.look();
      };
    }
  }

  async look() {
    clearTimeout(this.timer);
    if (this.closed) return;
    try {
      this.film = await getJson(`/api/recipes/${encodeURIComponent(this.recipe)}/film`);
    } catch {
      this.timer = setTimeout(() => this.look(), LOOK_AGAIN); // the state of saving says that there is no server
      return;
    }
    if (this.closed) return;
    if (this.film?.view) this.onReady(this.film.view);
    else if (["waiting", "sampling"].includes(this.film?.state ?? "")) {
      this.timer = setTimeout(() => this.look(), LOOK_AGAIN);
    }
    this.draw();
  }

  send(file) {
    this.film = null;
    this.follow(startUpload(this.recipe, file));
    this.draw();
  }

  draw() {
    if (this.closed) return;
    const sending = this.upload?.state === "uploading";
    const failed = this.upload?.state === "failed" ? describeProblem(this.upload.problem) : null;
    const sentence = this.film && filmSentence(this.film);
    const shown = sending
      ? this.uploadBar()
      : [
          failed ? element("p", { class: "notice bad", role: "alert" }, t("film.refused", { reason: failed })) : null,
          sentence && this.film ? this.stateLine(sentence, this.film) : null,
          this.notes(),
          this.field(),
        ];
    this.element.hidden = ![shown].flat().some(Boolean);
    replaceContent(this.element, shown);
  }

  uploadBar() {
    const { file, sent, waiting } = this.upload;
    const values = { name: file.name, sent: megabytes(sent), size: megabytes(file.size) };
    return element(
      "div",
      { class: "notice film-line" },
      element("span", {}, t(waiting ? "film.unreachable" : "film.uploading", values)),
      element("progress", { max: file.size, value: sent, "aria-label": t("film.uploading", values) }),
    );
  }

  stateLine(sentence, { state, frames, of }) {
    if (state === "failed") return element("p", { class: "notice bad", role: "alert" }, sentence);
    const props = of ? { max: of, value: Math.min(frames, of) } : {};
    return element(
      "div",
      { class: "notice film-line" },
      element("span", {}, sentence),
      element("progress", { ...props, "aria-label": sentence }),
    );
  }

  notes() {
    return (this.film?.notes ?? []).map((note) => element("p", { class: "soft small" }, t("film.note", { note })));
  }

  /** Where a film is missing or could not be used; one that is not finished is sent on if it is chosen again. */
  field() {
    const { state = "", received = 0, size = 0 } = this.film ?? {};
    if (!this.editing || !this.askField || !["none", "failed"].includes(state)) return null;
    const half = received
      ? element("p", { class: "soft" }, t("film.half", { sent: megabytes(received), size: megabytes(size) }))
      : null;
    return element("div", { class: "stack" }, half, filmField((file) => this.send(file)));
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    if (this.upload) this.upload.onChange = () => {};
  }
}
