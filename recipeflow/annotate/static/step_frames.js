// Step 3: the frames before and after each action, object by object. Click a frame in the one filmstrip, then Before
// or After.

import { element, replaceContent } from "/shared/dom.js";
import { recipeText } from "/shared/words.js";

import { framePath } from "./api.js";
import { entityText, sideText } from "./describe.js";
import { Filmstrip, showThumbnail, timeOf } from "./filmstrip.js";
import { t } from "./language.js";
import { ObjectList } from "./object_list.js";
import { keepFocus } from "./shell.js";

const SIDES = ["before", "after"];
const SIDE_KEYS = { before: "B", after: "A" };
const STAGE = [448, 252];

export class FramesStep {
  constructor(editor) {
    this.session = editor.session;
    this.frames = editor.view.frames;
    this.current = { action: null, key: null };
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

  get object() {
    return this.view.objects.find((object) => object.key === this.current.key) ?? null;
  }

  update(view) {
    this.view = view;
    this.settleCurrent();
    this.drawObject();
  }

  /** Keep to the object at hand; when it is gone, the next of its action, or the first that is open. */
  settleCurrent() {
    if (
      this.object ||
      (this.current.key === null && this.view.actions.some(({ action }) => action === this.current.action))
    )
      return;
    const next =
      this.view.objects.find((object) => object.action === this.current.action) ??
      this.findOpen() ??
      this.view.objects[0];
    this.current = { action: next?.action ?? this.view.actions[0]?.action ?? null, key: next?.key ?? null };
    this.showFramesOf(this.object);
  }

  /** The first object with an open side after the one at hand, going round. */
  findOpen() {
    const { objects } = this.view;
    const at = objects.findIndex((object) => object.key === this.current.key);
    const round = [...objects.slice(at + 1), ...objects.slice(0, at + 1)];
    return round.find((object) => SIDES.some((side) => object[side] === null)) ?? null;
  }

  go(action, key) {
    this.current = { action, key };
    this.showFramesOf(this.object);
    this.drawObject();
  }

  /** Bring the film to where the object is expected: its own frames, or those of the object before it. */
  showFramesOf(object) {
    if (!object || !this.strip) return;
    const { objects } = this.view;
    const earlier = objects
      .slice(0, objects.indexOf(object))
      .findLast((each) => SIDES.some((side) => typeof each[side] === "number"));
    const number = [object.before, object.after, object.offer, earlier?.after, earlier?.before].find(
      (value) => typeof value === "number",
    );
    if (number !== undefined) this.strip.pick(number);
  }

  drawObject() {
    const { objects } = this.view;
    const set = objects.filter((object) => SIDES.every((side) => object[side] !== null)).length;
    const next = element(
      "button",
      {
        type: "button",
        class: "small",
        data: { tool: "next", key: "next open" },
        disabled: set === objects.length,
        on: { click: () => this.goOpen() },
      },
      t(set === objects.length && set ? "frames.alldone" : "frames.nextopen"),
      set === objects.length ? null : element("kbd", { "aria-hidden": "true" }, "J"),
    );
    keepFocus(this.progress, () =>
      replaceContent(
        this.progress,
        element("strong", {}, t("frames.progress", { set, objects: objects.length })),
        next,
      ),
    );
    this.list.update(this.view, this.current);
    this.drawControls();
    if (!this.strip) return;
    const used = new Set(
      objects.flatMap((object) => [object.before, object.after]).filter((value) => typeof value === "number"),
    );
    this.strip.mark(this.object?.before ?? null, this.object?.after ?? null, used);
    this.drawStage();
  }

  drawControls() {
    const { object } = this;
    keepFocus(this.controls, () =>
      replaceContent(
        this.controls,
        this.current.action ? this.contextLine() : element("p", {}, t("frames.noobjects")),
        object
          ? element(
              "h2",
              { lang: "ja" },
              `${entityText(this.view, object.object)} · ${entityText(this.view, object.action)}`,
            )
          : null,
        object
          ? element(
              "div",
              { class: "side-cards" },
              SIDES.map((side) => this.sideCard(object, side)),
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
      sections: [{ name: "instructions", lines: [line] }],
      entities: here.map((entity) => ({ ...entity, section: 0, line: 0 })),
    };
    const marked = [action.id, this.object?.object];
    return element(
      "div",
      { class: "context-line" },
      recipeText(mini, { entityProps: (entity) => ({ class: marked.includes(entity.id) ? "at-hand" : "" }) }),
    );
  }

  sideCard(object, side) {
    const value = object[side];
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
    const offered = side === "before" && object.offer !== null && value === null;
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
      offered
        ? element(
            "button",
            {
              type: "button",
              class: "small",
              data: { tool: "offer", key: "offer" },
              on: { click: () => this.set("before", object.offer) },
            },
            t("frames.offer", { number: object.offer }),
            element("kbd", { "aria-hidden": "true" }, "O"),
          )
        : null,
      element(
        "div",
        { class: "row tight" },
        small(t("frames.hidden"), "hidden", "none", value === "none"),
        small(t("frames.clear"), "clear", null, value === null),
      ),
    );
  }

  sidePicture(value) {
    const box = element("div", { class: "side-picture" }, value === "none" ? "∅" : "");
    return typeof value === "number" && this.frames ? showThumbnail(box, this.frames, value, 128, 72) : box;
  }

  /** Set a side; when that completes the object, go on to the next open one. */
  set(side, value) {
    const { object } = this;
    if (!object || object[side] === value) return;
    const other = object[side === "before" ? "after" : "before"];
    const completes = object[side] === null && value !== null && other !== null;
    this.session.do({ op: "frame", key: object.key, side, value });
    if (completes && !wrongOrder(side, value, other)) this.goOpen();
  }

  goOpen() {
    const open = this.findOpen();
    if (open && open.key !== this.current.key) this.go(open.action, open.key);
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
    const number = this.hovered ?? this.strip.picked;
    if (number === this.staged) return;
    this.staged = number;
    showThumbnail(this.blur, this.frames, number, ...STAGE);
    this.picture.classList.add("loading");
    this.picture.src = framePath(this.view.id, number, this.frames.stamp);
    this.picture.alt = t("frames.large", { number, time: timeOf(this.frames, number) });
    replaceContent(this.caption, this.picture.alt);
  }

  onKey(event) {
    const { object } = this;
    const key = event.key.toLowerCase();
    const side = SIDES.find((each) => SIDE_KEYS[each].toLowerCase() === key);
    if (side) return (this.strip && this.set(side, this.strip.picked), true);
    if (key === "n" && object) return (this.set(SIDES.find((each) => object[each] === null) ?? "after", "none"), true);
    if (key === "o" && object && object.offer !== null) return (this.set("before", object.offer), true);
    if (key === "x" && object) return (this.clear(object), true);
    if (key === "j") return (this.goOpen(), true);
    if (key === "k" || key === "l") return (this.goBy(key === "k" ? -1 : 1), true);
    return this.strip ? this.strip.onKey(event) : false;
  }

  clear({ key, before, after }) {
    if (before === null && after === null) return;
    this.session.do({ op: "frames", changes: SIDES.map((side) => ({ key, side, value: null })) });
  }

  goBy(step) {
    const { objects } = this.view;
    const next = objects[objects.findIndex((object) => object.key === this.current.key) + step];
    if (next) this.go(next.action, next.key);
  }

  close() {}
}

/**
 * Whether the other side stands on the wrong side of this one: the server will refuse it, so the page does not go on.
 */
function wrongOrder(side, value, other) {
  if (typeof value !== "number" || typeof other !== "number") return false;
  return side === "before" ? other < value : value < other;
}
