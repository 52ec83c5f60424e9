// Step 3: the frames before and after each action, pair by pair. Click a frame in the one filmstrip, then Before
// or After.

import { element, replaceContent } from "/shared/dom.js";
import { recipeText } from "/shared/words.js";

import { framePath } from "./api.js";
import { entityText, sideText } from "./describe.js";
import { Filmstrip, showThumbnail, timeOf } from "./filmstrip.js";
import { t } from "./language.js";
import { ObjectList } from "./object_list.js";
import { noteTools, toggleUnsure } from "./note_tools.js";
import { keepFocus } from "./shell.js";

/** @type {("before" | "after")[]} */
const SIDES = ["before", "after"];
const SIDE_KEYS = { before: "B", after: "A" };
const STAGE = [448, 252];

/** @import { Editor } from "./editor.js" */
/** @import { AnnotatedDocument, AnnotatedPair, FrameChoice } from "./types.js" */

export class FramesStep {
  /** @type {AnnotatedDocument} */
  view;

  /** @param {Editor} editor */
  constructor(editor) {
    this.session = editor.session;
    this.frames = editor.view.frames;
    /** @type {{ action: string | null, key: string | null }} */
    this.current = { action: null, key: null };
    /** @type {number | null} */
    this.hovered = null;
    this.caption = element("figcaption", { class: "soft small" });
    this.picture = element("img", { class: "stage-picture", alt: "" });
    this.blur = element("div", { class: "stage-blur" });
    this.picture.addEventListener("load", () => this.picture.classList.remove("loading"));
    this.stage = element(
      "figure",
      { class: "stage" },
      element("div", { class: "stage-frame" }, this.blur, this.picture),
      this.caption,
    );
    this.controls = element("section", { class: "controls stack" });
    this.strip =
      this.frames &&
      new Filmstrip(this.frames, { onPick: () => this.onPicked(), onHover: (number) => this.hover(number) });
    this.progress = element("div", { class: "row spread" });
    this.list = new ObjectList(this.session, (action, key) => this.go(action, key));
    const upper = element("div", { class: "frames-upper panel" }, this.frames ? this.stage : null, this.controls);
    this.main = element(
      "div",
      { class: "step-main" },
      upper,
      this.strip?.element ?? element("p", { class: "panel" }, t("frames.none")),
    );
    this.side = element("section", { class: "stack" }, this.progress, this.list.element);
  }

  /** @returns {AnnotatedPair | null} */
  get pair() {
    return this.view.objects.find((pair) => pair.key === this.current.key) ?? null;
  }

  /** @param {AnnotatedDocument} view */
  update(view) {
    this.view = view;
    this.settleCurrent();
    this.drawPair();
  }

  /** Keep to the pair at hand; when it is gone, the next of its action, or the first that is open. */
  settleCurrent() {
    if (
      this.pair ||
      (this.current.key === null && this.view.actions.some(({ action }) => action === this.current.action))
    )
      return;
    const next =
      this.view.objects.find((pair) => pair.action === this.current.action) ??
      this.findOpen() ??
      this.view.objects[0];
    this.current = { action: next?.action ?? this.view.actions[0]?.action ?? null, key: next?.key ?? null };
    this.showFramesOf(this.pair);
  }

  /** The first pair with an open side after the one at hand, going round, with what is on its way counted. */
  findOpen() {
    const { objects: pairs } = this.session.view;
    const at = pairs.findIndex((pair) => pair.key === this.current.key);
    const round = [...pairs.slice(at + 1), ...pairs.slice(0, at + 1)];
    return round.find((pair) => SIDES.some((side) => pair[side] === null)) ?? null;
  }

  go(action, key) {
    this.view = this.session.view;
    this.current = { action, key };
    this.showFramesOf(this.pair);
    this.drawPair();
  }

  /** Bring the film to the pair's own frames, or to where its before-frame is expected. */
  showFramesOf(pair) {
    const number = pair && [pair.before, pair.after, this.offerOf(pair)].find((value) => typeof value === "number");
    if (number) this.strip?.pick(number);
  }

  /**
   * The offered before-frame, as far as the film has it: else the next frame that it has.
   *
   * @param {AnnotatedPair} pair
   */
  offerOf({ offer }) {
    if (offer === null) return null;
    return this.frames?.numbers.find((number) => number >= offer) ?? null;
  }

  drawPair() {
    const { objects: pairs } = this.view;
    const set = pairs.filter((pair) => SIDES.every((side) => pair[side] !== null)).length;
    const next = element(
      "button",
      {
        type: "button",
        class: "small",
        data: { tool: "next", key: "next open" },
        disabled: set === pairs.length,
        on: { click: () => this.goOpen() },
      },
      t(set === pairs.length && set ? "frames.alldone" : "frames.nextopen"),
      set === pairs.length ? null : element("kbd", { "aria-hidden": "true" }, "J"),
    );
    keepFocus(this.progress, () =>
      replaceContent(
        this.progress,
        element("strong", {}, t("frames.progress", { set, objects: pairs.length })),
        next,
      ),
    );
    this.list.update(this.view, this.current);
    this.drawControls();
    if (!this.strip) return;
    const used = new Set(
      pairs.flatMap((pair) => [pair.before, pair.after]).filter((value) => typeof value === "number"),
    );
    this.strip.mark(this.pair?.before ?? null, this.pair?.after ?? null, used);
    this.drawStage();
  }

  drawControls() {
    const { pair } = this;
    keepFocus(this.controls, () =>
      replaceContent(
        this.controls,
        this.current.action ? this.contextLine() : element("p", {}, t("frames.noobjects")),
        pair
          ? element(
              "h2",
              { lang: this.view.language },
              `${entityText(this.view, pair.object)} · ${entityText(this.view, pair.action)}`,
            )
          : null,
        pair
          ? element(
              "div",
              { class: "side-cards" },
              SIDES.map((side) => this.sideCard(pair, side)),
            )
          : null,
      ),
    );
  }

  /** The line of the action, with the action and the object marked. */
  contextLine() {
    const action = this.view.entities.find((entity) => entity.id === this.current.action);
    if (!action) return null;
    const line = this.view.sections[action.section].lines[action.line];
    const here = this.view.entities.filter(
      (entity) => entity.section === action.section && entity.line === action.line,
    );
    const mini = {
      language: this.view.language,
      sections: [{ name: "instructions", lines: [line] }],
      entities: here.map((entity) => ({ ...entity, section: 0, line: 0 })),
    };
    const marked = [action.id, this.pair?.object];
    return element(
      "div",
      { class: "context-line" },
      recipeText(mini, { entityProps: (entity) => ({ class: marked.includes(entity.id) ? "at-hand" : "" }) }),
    );
  }

  /** @type {(pair: AnnotatedPair, side: "before" | "after") => HTMLElement} */
  sideCard(pair, side) {
    const value = pair[side];
    const name = t(`frames.${side}`);
    const picked = this.strip?.picked;
    const use = element(
      "button",
      {
        type: "button",
        class: value === null ? "primary" : "",
        disabled: picked === undefined,
        data: { set: side, key: `set ${side}` },
        on: { click: () => this.set(side, picked) },
      },
      picked === undefined ? name : t("frames.use", { side: name, number: picked }),
      element("kbd", { "aria-hidden": "true" }, SIDE_KEYS[side]),
    );
    const small = (label, tool, next, disabled) =>
      element(
        "button",
        {
          type: "button",
          class: "small",
          disabled,
          data: { tool, side, key: `${tool} ${side}` },
          on: { click: () => this.set(side, next) },
        },
        label,
      );
    const offer = side === "before" && value === null ? this.offerOf(pair) : null;
    return element(
      "div",
      { class: "side-card", data: { side, value: value ?? "" } },
      element(
        "div",
        { class: "row spread" },
        element("h3", {}, name),
        element("span", { class: value === null ? "soft" : "" }, sideText(value)),
      ),
      this.sidePicture(value),
      use,
      offer
        ? element(
            "button",
            {
              type: "button",
              class: "small",
              data: { tool: "offer", key: "offer" },
              on: { click: () => this.set("before", offer) },
            },
            t("frames.offer", { number: offer }),
            element("kbd", { "aria-hidden": "true" }, "O"),
          )
        : null,
      element(
        "div",
        { class: "row tight" },
        small(t("frames.hidden"), "hidden", "none", value === "none"),
        small(t("frames.clear"), "clear", null, value === null),
      ),
      noteTools(this.session, `im:${pair.key}:${side}`, side === lastSide(pair)),
    );
  }

  sidePicture(value) {
    const box = element("div", { class: "side-picture" }, value === "none" ? "∅" : "");
    return typeof value === "number" && this.frames ? showThumbnail(box, this.frames, value, 128, 72) : box;
  }

  /** Set a side; when that completes the pair, move to the next open one, and stay where the film is. */
  set(side, value) {
    const { pair } = this;
    if (!pair || pair[side] === value) return;
    const other = pair[side === "before" ? "after" : "before"];
    const completes = pair[side] === null && value !== null && other !== null;
    this.session.do({ op: "frame", key: pair.key, side, value });
    if (completes && !wrongOrder(side, value, other)) this.goOpen(this.strip?.picked);
  }

  /**
   * Go to the next open pair. One without frames of its own is looked for from frame `from`, if that is given.
   *
   * @param {number} [from]
   */
  goOpen(from) {
    const open = this.findOpen();
    if (!open || open.key === this.current.key) return;
    this.go(open.action, open.key);
    if (from && !SIDES.some((side) => typeof open[side] === "number")) this.strip?.pick(from);
  }

  onPicked() {
    if (!this.view) return;
    this.drawControls();
    this.drawStage();
  }

  hover(number) {
    if (number === this.hovered) return;
    this.hovered = number;
    this.drawStage();
  }

  /**
   * The large view: the frame under the pointer, else the chosen one; its thumbnail fills in until the picture is
   * there.
   */
  drawStage() {
    const { frames } = this;
    const number = this.hovered ?? this.strip?.picked;
    if (!frames || number === undefined || number === this.staged) return;
    this.staged = number;
    showThumbnail(this.blur, frames, number, ...STAGE);
    this.picture.classList.add("loading");
    this.picture.src = framePath(this.view.id, number, frames.stamp);
    this.picture.alt = t("frames.large", { number, time: timeOf(frames, number) });
    replaceContent(this.caption, this.picture.alt);
  }

  /** Go to the object that a link leads to. */
  goTo(at) {
    const found = this.view.objects.find((pair) => pair.key === at);
    if (found) this.go(found.action, found.key);
  }

  onKey(event) {
    const { pair } = this;
    const key = event.key.toLowerCase();
    const side = SIDES.find((each) => SIDE_KEYS[each].toLowerCase() === key);
    if (side) return (this.strip && this.set(side, this.strip.picked), true);
    if (key === "n" && pair) return (this.set(SIDES.find((each) => pair[each] === null) ?? "after", "none"), true);
    if (key === "o" && pair && this.offerOf(pair)) return (this.set("before", this.offerOf(pair)), true);
    if (key === "x" && pair) return (this.clear(pair), true);
    if (key === "u" && pair)
      return (toggleUnsure(this.session, `im:${pair.key}:${lastSide(pair)}`), true);
    if (key === "j") return (this.goOpen(), true);
    if (key === "k" || key === "l") return (this.goBy(key === "k" ? -1 : 1), true);
    return this.strip ? this.strip.onKey(event) : false;
  }

  clear({ key, before, after }) {
    if (before === null && after === null) return;
    this.session.do({ op: "frames", changes: SIDES.map((side) => ({ key, side, value: null })) });
  }

  goBy(step) {
    const { objects: pairs } = this.view;
    const next = pairs[pairs.findIndex((pair) => pair.key === this.current.key) + step];
    if (next) this.go(next.action, next.key);
  }

  close() {}
}

/**
 * The side that was decided last, which the key U is about.
 *
 * @param {AnnotatedPair} pair
 */
function lastSide(pair) {
  return pair.after === null ? "before" : "after";
}

/**
 * Whether before and after are in the wrong order: the server will refuse it, so the page does not move on.
 */
function wrongOrder(side, value, other) {
  if (typeof value !== "number" || typeof other !== "number") return false;
  return side === "before" ? other < value : value < other;
}
