// Sending a film to the server: in pieces, with what has arrived, and again from there after a lost connection. It goes
// on while other pages of this tab are open.

import { Refusal, Unreachable, postJson } from "./api.js";

const PIECE_PATIENCE = 120_000;
const LONGEST_WAIT = 15_000;

/** @type {Map<string, FilmUpload>} By recipe. */
const running = new Map();

/** The upload of a recipe's film that this tab has started. */
export function currentUpload(recipe) {
  return running.get(recipe) ?? null;
}

/** @type {(recipe: string, file: File) => FilmUpload} */
export function startUpload(recipe, file) {
  const upload = new FilmUpload(recipe, file);
  running.set(recipe, upload);
  upload.run();
  return upload;
}

window.addEventListener("beforeunload", (event) => {
  if ([...running.values()].some((upload) => upload.state === "uploading")) event.preventDefault();
});

export class FilmUpload {
  /**
   * @param {string} recipe
   * @param {File} file
   */
  constructor(recipe, file) {
    this.path = `/api/recipes/${encodeURIComponent(recipe)}/film`;
    this.recipe = recipe;
    this.file = file;
    this.sent = 0;
    /** @type {"uploading" | "done" | "failed"} */
    this.state = "uploading";
    this.waiting = false;
    /** @type {unknown} */
    this.problem = null;
    this.onChange = () => {};
  }

  async run() {
    for (let wait = 1000; this.state === "uploading"; wait = Math.min(2 * wait, LONGEST_WAIT)) {
      try {
        await this.sendRest();
        this.become("done");
      } catch (problem) {
        if (problem instanceof Refusal && problem.code !== "piece" && problem.status < 500) {
          this.problem = problem;
          this.become("failed");
        } else {
          this.waiting = true;
          this.onChange();
          await new Promise((resolve) => setTimeout(resolve, wait));
          this.waiting = false;
        }
      }
    }
  }

  /** Ask what has arrived, and send all that is missing. */
  async sendRest() {
    const { name, size, lastModified: stamp } = this.file;
    let answer = await postJson(this.path, { name, size, stamp });
    this.show(answer.received);
    while (answer.received < size) {
      const { received, upload, piece } = answer;
      answer = await this.sendPiece(`${this.path}/${upload}/${received}`, received, piece);
      this.show(answer.received);
    }
  }

  /** One piece; `fetch` could not say how much of it is on its way. */
  sendPiece(address, offset, size) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("POST", address);
      request.responseType = "json";
      request.timeout = PIECE_PATIENCE;
      request.setRequestHeader("content-type", "application/octet-stream");
      request.upload.addEventListener("progress", (event) => this.show(offset + event.loaded));
      request.addEventListener("error", () => reject(new Unreachable("no answer")));
      request.addEventListener("timeout", () => reject(new Unreachable("no answer")));
      request.addEventListener("load", () => {
        if (request.status === 200) resolve(request.response);
        else reject(new Refusal(request.status, request.response ?? {}));
      });
      request.send(this.file.slice(offset, offset + size));
    });
  }

  show(sent) {
    this.sent = Math.min(sent, this.file.size);
    this.onChange();
  }

  become(state) {
    this.state = state;
    this.onChange();
  }
}
