// The one filmstrip that all objects share: thumbnails cut out of a few large sheets, so that 300 frames cost a
// handful of requests.

import { element, replaceContent } from "/shared/dom.js";

import { t } from "./language.js";

const ZOOMS = [1, 2, 4, 8, 16];
const COMFORTABLE = 150;

/** @import { Frames } from "./types.js" */

/** Show a frame's thumbnail as the background of `node`, as large as fits into `width` x `height` pixels. */
export function showThumbnail(node, frames, number, width, height) {
  const { sheets, numbers } = frames;
  const index = numbers.indexOf(number);
  const scale = Math.min(width / sheets.width, height / sheets.height);
  node.style.width = `${Math.round(sheets.width * scale)}px`;
  node.style.height = `${Math.round(sheets.height * scale)}px`;
  if (index < 0) return node;
  const perSheet = sheets.columns * sheets.rows;
  const cell = index % perSheet;
  const onSheet = Math.min(numbers.length - (index - cell), perSheet);
  const rows = Math.ceil(onSheet / sheets.columns);
  const [across, down] = [sheets.width * scale, sheets.height * scale];
  node.style.backgroundImage = `url("${sheets.url.replace("{sheet}", Math.floor(index / perSheet))}")`;
  node.style.backgroundSize = `${sheets.columns * across}px ${rows * down}px`;
  node.style.backgroundPosition = `-${(cell % sheets.columns) * across}px -${Math.floor(cell / sheets.columns) * down}px`;
  return node;
}

/** When a frame was, in seconds with one digit. */
export function timeOf(frames, number) {
  return ((number - 1) * (frames.interval ?? 1 / 3)).toFixed(1);
}

export class Filmstrip {
  /**
   * @param {Frames} frames
   * @param {{ onPick: (number: number) => void, onHover: (number: number | null) => void }} handlers
   */
  constructor(frames, { onPick, onHover }) {
    this.frames = frames;
    this.handlers = { onPick, onHover };
    this.picked = frames.numbers[0];
    this.zoom = ZOOMS.find((zoom) => frames.numbers.length / zoom <= COMFORTABLE) ?? ZOOMS[ZOOMS.length - 1];
    this.thumbs = new Map(frames.numbers.map((number) => [number, this.thumb(number)]));
    this.strip = element("div", { class: "strip", role: "group", "aria-label": t("frames.strip") }, [
      ...this.thumbs.values(),
    ]);
    this.zoomSaid = element("span", { class: "zoom-said", "aria-live": "polite" });
    const button = (name, sign, step) =>
      element(
        "button",
        {
          type: "button",
          class: "icon small",
          title: t(name),
          "aria-label": t(name),
          on: { click: () => this.zoomBy(step) },
        },
        sign,
      );
    this.bar = element(
      "div",
      { class: "row tight strip-bar" },
      element("span", { class: "soft small" }, t("frames.hint")),
      button("frames.zoom.out", "−", 1),
      this.zoomSaid,
      button("frames.zoom.in", "+", -1),
    );
    this.element = element("section", { class: "filmstrip panel" }, this.bar, this.strip);
    this.strip.addEventListener("click", (event) => this.pick(numberOf(event.target), false));
    this.strip.addEventListener("pointerover", (event) => onHover(numberOf(event.target)));
    this.strip.addEventListener("pointerleave", () => onHover(null));
    this.strip.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    this.marks = { before: null, after: null, used: new Set() };
    this.showZoom();
    this.pick(this.picked, false);
  }

  thumb(number) {
    const label = t("frames.large", { number, time: timeOf(this.frames, number) });
    return showThumbnail(
      element("button", { type: "button", class: "thumb", tabindex: -1, "aria-label": label, data: { number } }),
      this.frames,
      number,
      128,
      84,
    );
  }

  /** Choose a frame; by keyboard the view follows it. */
  pick(number, follow = true) {
    if (number === null || !this.thumbs.has(number)) return;
    const old = this.thumbs.get(this.picked);
    old.classList.remove("picked");
    old.tabIndex = -1;
    this.picked = number;
    const thumb = this.thumbs.get(number);
    thumb.classList.add("picked");
    thumb.tabIndex = 0;
    thumb.hidden = false;
    if (this.strip.contains(document.activeElement)) thumb.focus({ preventScroll: true });
    if (follow) thumb.scrollIntoView({ block: "nearest" });
    this.handlers.onPick(number);
  }

  /** Show which frames the object at hand uses, and which others do. */
  mark(before, after, used) {
    const old = this.marks;
    for (const number of [old.before, old.after, ...old.used])
      this.thumbs.get(number)?.classList.remove("is-before", "is-after", "is-used");
    for (const number of used) this.thumbs.get(number)?.classList.add("is-used");
    this.thumbs.get(before)?.classList.add("is-before");
    this.thumbs.get(after)?.classList.add("is-after");
    this.marks = { before, after, used };
    this.showZoom();
  }

  zoomBy(step) {
    const at = ZOOMS.indexOf(this.zoom) + step;
    if (!(at in ZOOMS)) return;
    this.zoom = ZOOMS[at];
    this.showZoom();
    this.thumbs.get(this.picked)?.scrollIntoView({ block: "center" });
  }

  showZoom() {
    const { before, after } = this.marks;
    this.frames.numbers.forEach((number, i) => {
      const kept = i % this.zoom === 0 || number === this.picked || number === before || number === after;
      const thumb = this.thumbs.get(number);
      if (thumb.hidden === kept) thumb.hidden = !kept;
    });
    const seconds = (this.zoom * (this.frames.interval ?? 1 / 3)).toFixed(1);
    replaceContent(this.zoomSaid, this.zoom === 1 ? t("frames.zoom.all") : t("frames.zoom", { seconds }));
  }

  onWheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.zoomBy(event.deltaY > 0 ? 1 : -1);
  }

  onKey(event) {
    const shown = this.frames.numbers.filter((number) => !this.thumbs.get(number).hidden);
    const at = shown.indexOf(this.picked);
    const steps = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -this.columns(shown),
      ArrowDown: this.columns(shown),
      Home: -at,
      End: shown.length - 1 - at,
    };
    if (event.key in steps)
      return (this.pick(shown[Math.max(0, Math.min(at + steps[event.key], shown.length - 1))]), true);
    if (event.key === "-" || event.key === "+" || event.key === "=")
      return (this.zoomBy(event.key === "-" ? 1 : -1), true);
    return false;
  }

  columns(shown) {
    const top = this.thumbs.get(shown[0]).offsetTop;
    const next = shown.findIndex((number) => this.thumbs.get(number).offsetTop > top);
    return next < 0 ? shown.length : next;
  }
}

function numberOf(target) {
  const thumb = target.closest(".thumb");
  return thumb ? Number(thumb.dataset.number) : null;
}
