// The flows of a recipe as labelled arcs over its words: one SVG behind the text, readable with more than a hundred
// arcs because all but those in focus step back, and labels are only written where they fit.

import { closestTo, drawing, element } from "./dom.js";
import { measureEntities } from "./words.js";

/** @import { Box, Flow } from "./types.js" */

/** @typedef {Flow & { className?: string, [more: string]: any }} DrawnFlow */
/** @typedef {{ flow: DrawnFlow, curve: number[], shape: SVGGElement, stamp: string }} Arc */
/** @typedef {{ key: string, other: number, box: Box, x: number, y: number }} ArcEnd */

const LABELLED_AT_ONCE = 16;
const LABEL_HEIGHT = 17;
const LABEL_SPOTS = [0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78, 0.14, 0.86];

/**
 * The name of a flow among the flows of its recipe.
 *
 * @param {Flow} flow
 */
export function flowKey(flow) {
  return `${flow.start}>${flow.end}:${flow.label}`;
}

/**
 * Arcs over the entities of `host`, an element with `position: relative` that holds a recipe's text.
 *
 * Flows are `{start, end, label}`; `className` on one adds a class (a suggestion, a difference). `onPick(flow)` is called when
 * an arc is clicked.
 */
export class ArcLayer {
  /**
   * @param {HTMLElement} host
   * @param {{ onPick?: ((flow: DrawnFlow) => void) | null }} handlers
   */
  constructor(host, { onPick = null } = {}) {
    this.host = host;
    this.onPick = onPick;
    /** @type {DrawnFlow[]} */
    this.flows = [];
    /** @type {Map<string, Arc>} */
    this.arcs = new Map();
    /** @type {Map<string, Box>} */
    this.places = new Map();
    /** @type {((flow: DrawnFlow) => boolean) | null} */
    this.focused = null;
    /** @type {Set<string> | null} */
    this.shownLabels = null;
    this.svg = drawing("svg", { class: "arcs", "aria-hidden": "true", focusable: "false" });
    this.names = drawing("svg", { class: "arc-names", "aria-hidden": "true", focusable: "false" });
    host.prepend(this.svg);
    host.append(this.names);
    this.svg.addEventListener("pointerover", (event) => this.hover(closestTo(event, ".arc")));
    this.svg.addEventListener("pointerout", () => this.hover(null));
    this.svg.addEventListener("click", (event) => this.pick(closestTo(event, ".arc")));
  }

  /** Draw these flows; call it again whenever the text or its width changed. */
  draw(flows) {
    this.flows = flows;
    this.redraw();
  }

  redraw() {
    this.places = measureEntities(this.host);
    const old = this.arcs;
    this.arcs = new Map();
    const drawn = this.flows.filter((flow) => this.places.has(flow.start) && this.places.has(flow.end));
    for (const [flow, curve] of layArcs(drawn, this.places)) {
      const key = flowKey(flow);
      const stamp = `${curve} ${flow.className ?? ""}`;
      const same = old.get(key)?.stamp === stamp ? old.get(key) : undefined;
      const shape = same?.shape ?? arcShape(flow, curve, this.onPick !== null);
      if (same) old.delete(key);
      else this.svg.append(shape);
      this.arcs.set(key, { flow, curve, shape, stamp });
    }
    for (const { shape } of old.values()) shape.remove();
    this.refresh();
  }

  /** Show only flows of these labels (a Set); null shows all. */
  filter(labels) {
    this.shownLabels = labels;
    this.refresh();
  }

  /** Let the flows that `isMeant(flow)` names stand out from the others; null lets all step forward again. */
  focus(isMeant) {
    this.focused = isMeant;
    this.refresh();
  }

  hover(shape) {
    if (shape) this.refresh((flow) => flowKey(flow) === shape.dataset.flow);
    else this.refresh();
  }

  pick(shape) {
    const arc = this.arcs.get(shape?.dataset.flow);
    if (arc && this.onPick) this.onPick(arc.flow);
  }

  refresh(isMeant = this.focused) {
    const labelled = [];
    this.svg.classList.toggle("in-focus", isMeant !== null);
    for (const arc of this.arcs.values()) {
      const shown = this.shownLabels === null || this.shownLabels.has(arc.flow.label);
      const meant = isMeant !== null && isMeant(arc.flow);
      arc.shape.classList.toggle("left-out", !shown);
      arc.shape.classList.toggle("meant", meant);
      if (shown && (meant || isMeant === null)) labelled.push(arc);
    }
    const fits = isMeant !== null || labelled.length <= LABELLED_AT_ONCE;
    this.names.replaceChildren(...(fits ? placeNames(labelled, this.places) : []));
  }
}

/**
 * A key to the arcs' colours, as buttons that switch each label on and off; `onChange(labels)` gets a Set or null for
 * all.
 */
export function labelFilter(labels, { nameLabel, onChange }) {
  const left = new Set();
  const box = element("div", { class: "label-filter", role: "group" });
  for (const label of labels) {
    const button = element(
      "button",
      { type: "button", class: `label-chip label-${label}`, "aria-pressed": "true", title: nameLabel(label) },
      label,
    );
    button.addEventListener("click", () => {
      if (!left.delete(label)) left.add(label);
      button.setAttribute("aria-pressed", String(!left.has(label)));
      onChange(left.size === 0 ? null : new Set(labels.filter((each) => !left.has(each))));
    });
    box.append(button);
  }
  return box;
}

/**
 * For every flow its curve; arcs that leave or reach an entity on the same side share its width, in the order of where
 * they go.
 */
function layArcs(flows, places) {
  const sides = new Map();
  const ends = flows.map((flow) => {
    const [from, to] = [places.get(flow.start), places.get(flow.end)];
    const across = flow.start[0] !== flow.end[0] && from.right + 12 < to.left;
    const level = Math.abs(from.top - to.top) < 8;
    const down = !level && from.top < to.top;
    const start = {
      key: `${flow.start} ${down ? "under" : "over"}`,
      other: centreOf(to),
      box: from,
      y: down ? from.bottom : from.top,
    };
    const end = {
      key: `${flow.end} ${level || down ? "over" : "under"}`,
      other: centreOf(from),
      box: to,
      y: level || down ? to.top : to.bottom,
    };
    for (const point of [start, end]) sides.set(point.key, [...(sides.get(point.key) ?? []), point]);
    return { flow, start, end, curveOf: level ? bowOf : across ? crossingOf : swingOf };
  });
  for (const points of sides.values()) spreadPoints(points);
  return ends.map(({ flow, start, end, curveOf }) => [flow, curveOf(start, end)]);
}

function centreOf(box) {
  return (box.left + box.right) / 2;
}

function spreadPoints(points) {
  points.sort((a, b) => a.other - b.other);
  points.forEach((point, i) => {
    const width = (point.box.right - point.box.left) * 0.7;
    point.x = centreOf(point.box) + (points.length === 1 ? 0 : (i / (points.length - 1) - 0.5) * width);
  });
}

/** Between two entities of one row: a bow above it, higher the wider. */
function bowOf(start, end) {
  const height = Math.min(12 + Math.abs(end.x - start.x) * 0.055, 36);
  const lean = (end.x - start.x) * 0.15;
  return [start.x, start.y, start.x + lean, start.y - height, end.x - lean, end.y - height, end.x, end.y];
}

/** Between two rows: leave and arrive upright, so that arcs do not run along the words. */
function swingOf(start, end) {
  const drop = Math.abs(end.y - start.y);
  const reach = Math.min(Math.max(18, drop * 0.5), drop * 0.9, 90) * Math.sign(end.y - start.y);
  return [start.x, start.y, start.x, start.y + reach, end.x, end.y - reach, end.x, end.y];
}

/**
 * From a column of ingredients to one of instructions beside it: sideways through the gap between two rows, then
 * upright.
 */
function crossingOf(start, end) {
  const way = Math.sign(end.y - start.y);
  const rise = Math.max(16, Math.min(Math.abs(end.y - start.y), 80)) * way;
  return [start.x, start.y, start.x + (end.x - start.x) * 0.35, start.y + 20 * way, end.x, end.y - rise, end.x, end.y];
}

function pointOn([ax, ay, bx, by, cx, cy, dx, dy], t) {
  const u = 1 - t;
  const mix = (a, b, c, d) => u * u * u * a + 3 * u * u * t * b + 3 * u * t * t * c + t * t * t * d;
  return [mix(ax, bx, cx, dx), mix(ay, by, cy, dy)];
}

function arcShape(flow, curve, pickable) {
  const [ax, ay, bx, by, cx, cy, dx, dy] = curve.map((value) => Math.round(value * 10) / 10);
  const path = `M${ax} ${ay}C${bx} ${by} ${cx} ${cy} ${dx} ${dy}`;
  const parts = [
    drawing("path", { class: "arc-line", d: path }),
    drawing("path", {
      class: "arc-head",
      d: "M0 0L-7 -3.2L-7 3.2Z",
      transform: `translate(${dx} ${dy}) rotate(${headAngle(curve)})`,
    }),
    drawing("path", { class: "arc-reach", d: path }),
  ];
  const classes = `arc label-${flow.label} ${flow.className ?? ""} ${pickable ? "pickable" : ""}`;
  return drawing("g", { class: classes, data: { flow: flowKey(flow) } }, parts);
}

function headAngle(curve) {
  const [x, y] = pointOn(curve, 0.94);
  return Math.round((Math.atan2(curve[7] - y, curve[6] - x) * 180) / Math.PI);
}

/**
 * Write each arc's label at the first spot along it where it covers no entity and no other label; without such a spot
 * it stays unnamed.
 */
function placeNames(arcs, places) {
  const taken = [...places.values()];
  const names = [];
  for (const { flow, curve } of arcs) {
    const half = flow.label.length * 3.6 + 4;
    for (const t of LABEL_SPOTS) {
      const [x, y] = pointOn(curve, t);
      const box = {
        left: Math.max(x - half, 0),
        right: Math.max(x - half, 0) + 2 * half,
        top: y - LABEL_HEIGHT / 2,
        bottom: y + LABEL_HEIGHT / 2,
      };
      if (taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      names.push(
        drawing(
          "text",
          { class: `arc-name label-${flow.label}`, x: Math.round(box.left + half), y: Math.round(y) + 4 },
          flow.label,
        ),
      );
      break;
    }
  }
  return names;
}

function overlap(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}
