// The whole flow graph of a recipe: from the ingredients at the top to the dish at the bottom, to zoom, to move and to walk through.

import { drawing, element, replaceContent } from "./dom.js";
import { baselines, cutText, placeBoxes } from "./graph_layout.js";
import { say } from "./language.js";
import { PanZoom } from "./pan_zoom.js";

/** @import { ShownRecipe } from "./recipe_page.js" */
/** @import { PlacedBox } from "./graph_layout.js" */
/** @import { Flow } from "./types.js" */

const MOST_NOTES = 2;
const FONT_SIZES = { text: 14, english: 11, note: 11 };

/** Show the view in `body`; returns a function that ends it. */
export function showGraph(body, recipe, { announce }) {
  const view = new GraphView(recipe, announce);
  replaceContent(body, view.parts());
  view.draw();
  view.panZoom.fit();
  return null;
}

class GraphView {
  /** @type {SVGGElement} */
  arrows;
  /** @type {SVGGElement} */
  labels;
  /** @type {SVGGElement} */
  nodes;
  /** @type {SVGSVGElement} */
  svg;
  /** @type {PanZoom} */
  panZoom;
  /** @type {Map<string, PlacedBox>} */
  boxes;
  /** @type {Map<string, SVGGElement>} */
  shapes;
  /** @type {Flow[]} */
  flows;
  /** @type {{ flow: Flow, line: SVGGElement, label: SVGTextElement }[]} */
  lines;

  /**
   * @param {ShownRecipe} recipe
   * @param {(text: string) => void} announce
   */
  constructor(recipe, announce) {
    this.recipe = recipe;
    this.announce = announce;
    this.isFolded = true;
    this.pinned = null;
    this.notes = new Map();
    for (const [note, owner] of recipe.data.graph.notes) this.notes.set(owner, [...(this.notes.get(owner) ?? []), note]);
  }

  parts() {
    this.arrows = drawing("g");
    this.labels = drawing("g", { class: "flow-labels" });
    this.nodes = drawing("g");
    this.content = drawing("g", {}, this.arrows, this.labels, this.nodes);
    this.svg = drawing("svg", { class: "graph", role: "group", "aria-label": say("Flow graph") }, this.content);
    this.panZoom = new PanZoom(this.svg, this.content);
    this.nodes.addEventListener("pointerover", (event) => this.light(nodeId(event.target) ?? this.pinned));
    this.nodes.addEventListener("pointerout", () => this.light(this.pinned));
    this.nodes.addEventListener("focusin", (event) => this.enter(nodeId(event.target)));
    this.nodes.addEventListener("focusout", () => this.light(this.pinned));
    this.svg.addEventListener("click", (event) => this.pin(nodeId(event.target)));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    const fold = element("input", { type: "checkbox", checked: true });
    fold.addEventListener("change", () => {
      this.isFolded = fold.checked;
      this.draw();
      this.panZoom.fit();
    });
    const button = (text, name, act) => element("button", { type: "button", "aria-label": name, title: name, on: { click: act } }, text);
    const tools = [
      button("+", say("Larger"), () => this.panZoom.zoom(1.3)),
      button("−", say("Smaller"), () => this.panZoom.zoom(1 / 1.3)),
      button(say("Fit"), say("Show everything"), () => this.panZoom.fit()),
      element("label", { class: "switch" }, fold, say("Quantities and manners inside boxes")),
      element("span", { class: "soft graph-hint" }, say("Drag to move, Ctrl and wheel to zoom. Click a box to see its whole way; arrow keys walk along the flows.")),
    ];
    return element("section", { class: "panel graph-panel", "aria-label": say("Graph") }, element("div", { class: "graph-tools" }, tools), this.svg);
  }

  linesOf(id) {
    const lines = [{ kind: "text", text: this.recipe.textOf(id) }];
    const english = this.recipe.englishOf(id);
    if (english !== null) lines.push({ kind: "english", text: english });
    const notes = this.isFolded ? (this.notes.get(id) ?? []) : [];
    const texts = notes.map((note) => this.recipe.englishOf(note) ?? this.recipe.textOf(note));
    // The first on lines of their own, the rest together: boxes of a level should not differ too much.
    const own = texts.length > MOST_NOTES ? [...texts.slice(0, MOST_NOTES - 1), texts.slice(MOST_NOTES - 1).join(" · ")] : texts;
    return [...lines, ...own.map((text) => ({ kind: "note", text }))];
  }

  draw() {
    const { graph } = this.recipe.data;
    const { boxes, width, height } = placeBoxes(this.isFolded ? graph.folded : graph.all, (id) => this.linesOf(id));
    this.boxes = boxes;
    this.panZoom.size = { width, height };
    this.flows = this.recipe.view.flows.filter((flow) => boxes.has(flow.start) && boxes.has(flow.end));
    this.pinned = boxes.has(this.pinned) ? this.pinned : null;
    this.shapes = new Map([...boxes].map(([id, box]) => [id, this.node(id, box)]));
    this.drawFlows();
    this.nodes.replaceChildren(...this.shapes.values());
    this.rove(this.pinned ?? [...boxes.keys()][0]);
    this.lit = undefined;
    this.light(this.pinned);
  }

  node(id, box) {
    const { tag } = this.recipe.entity(id);
    const baseline = baselines(box.lines);
    const texts = box.lines.map((line, i) =>
      drawing("text", { class: `box-${line.kind}`, x: box.width / 2, y: baseline[i] }, cutText(line.text, FONT_SIZES[line.kind], box.width - 10)),
    );
    const whole = box.lines.map((line) => line.text).join("\n");
    return drawing(
      "g",
      { class: `box tag-${tag}`, transform: `translate(${box.x} ${box.y})`, role: "button", tabindex: "-1", "aria-label": this.nodeName(id), data: { node: id } },
      drawing("title", {}, `${whole}\n${this.recipe.tagName(tag)}`),
      drawing("rect", { width: box.width, height: box.height, rx: 5 }),
      texts,
    );
  }

  /** A node in words: what it is, what flows into it and where it goes. */
  nodeName(id) {
    const { tag } = this.recipe.entity(id);
    const name = (other) => this.recipe.plainName(other);
    const from = this.recipe.view.flows.filter((flow) => flow.end === id).map((flow) => `${name(flow.start)} as ${flow.label}`);
    const to = this.recipe.view.flows.filter((flow) => flow.start === id).map((flow) => `${name(flow.end)} as ${flow.label}`);
    const parts = [`${name(id)}, ${this.recipe.tagName(tag)}`, from.length ? `from ${from.join(", ")}` : "", to.length ? `to ${to.join(", ")}` : ""];
    return parts.filter(Boolean).join("; ");
  }

  /** @type {(id: string) => PlacedBox} Of a node that is shown. */
  boxOf(id) {
    return /** @type {PlacedBox} */ (this.boxes.get(id));
  }

  drawFlows() {
    const sides = new Map();
    this.lines = [];
    for (const flow of this.flows) {
      const [from, to] = [this.boxOf(flow.start), this.boxOf(flow.end)];
      const [x0, y0, x1, y1] = [from.x + from.width / 2, from.y + from.height, to.x + to.width / 2, to.y];
      const reach = Math.min(40, (y1 - y0) / 2);
      const path = `M${x0} ${y0}C${x0} ${y0 + reach} ${x1} ${y1 - reach - 6} ${x1} ${y1 - 6}`;
      const line = drawing("g", { class: `flow label-${flow.label}` }, drawing("path", { class: "flow-line", d: path }), drawing("path", { class: "flow-head", d: `M${x1} ${y1}l-4 -8h8Z` }));
      // On the side that the line turns away from; a second label on that side stands below the first.
      const side = x1 > x0 ? -1 : 1;
      const nth = sides.get(`${flow.start} ${side}`) ?? 0;
      sides.set(`${flow.start} ${side}`, nth + 1);
      const label = drawing("text", { class: `flow-label label-${flow.label}`, x: x0 + side * 5, y: y0 + 13 + 12 * nth, "text-anchor": side > 0 ? "start" : "end" }, flow.label);
      this.lines.push({ flow, line, label });
    }
    this.arrows.replaceChildren(...this.lines.map(({ line }) => line));
    this.labels.replaceChildren(...this.lines.map(({ label }) => label));
  }

  /** Light up a node's way: with `null` nothing, of the pinned one all it comes from and goes to, else its neighbours and objects. */
  light(id) {
    if (id === this.lit) return;
    this.lit = id;
    this.svg.classList.toggle("lit", id !== null);
    const near = id === null ? new Set() : id === this.pinned ? this.wholeWay(id) : this.neighbours(id);
    const objects = new Set(id === null ? [] : (this.recipe.data.lights[id]?.objects ?? []));
    for (const [other, shape] of this.shapes) {
      shape.classList.toggle("lit-near", near.has(other));
      shape.classList.toggle("lit-object", objects.has(other));
      shape.classList.toggle("lit-self", other === id);
    }
    for (const { flow, line, label } of this.lines) {
      const isLit = near.has(flow.start) && near.has(flow.end);
      line.classList.toggle("lit-near", isLit);
      label.classList.toggle("lit-near", isLit);
    }
  }

  neighbours(id) {
    const near = new Set([id]);
    for (const flow of this.flows) {
      if (flow.end === id) near.add(flow.start);
      if (flow.start === id) near.add(flow.end);
    }
    const lights = this.recipe.data.lights[id];
    for (const other of lights ? [...lights.objects, ...lights.through] : []) near.add(other);
    return near;
  }

  wholeWay(id) {
    const way = new Set([id]);
    for (const [here, there] of [["end", "start"], ["start", "end"]]) {
      const waiting = [id];
      while (waiting.length > 0) {
        const node = waiting.pop();
        for (const flow of this.flows) {
          if (flow[here] === node && !way.has(flow[there])) {
            way.add(flow[there]);
            waiting.push(flow[there]);
          }
        }
      }
    }
    return way;
  }

  pin(id) {
    this.pinned = id !== null && id !== this.pinned ? id : null;
    this.lit = undefined;
    this.light(this.pinned);
    if (this.pinned) {
      this.rove(id);
      this.announce(this.nodeName(id));
    }
  }

  /** One node at a time can be reached with Tab; from there, arrow keys move on. */
  rove(id) {
    for (const [other, shape] of this.shapes) shape.setAttribute("tabindex", other === id ? "0" : "-1");
  }

  enter(id) {
    this.rove(id);
    this.panZoom.reveal(this.boxOf(id));
    this.light(id);
  }

  key(event) {
    const moves = { "+": () => this.panZoom.zoom(1.3), "=": () => this.panZoom.zoom(1.3), "-": () => this.panZoom.zoom(1 / 1.3), 0: () => this.panZoom.fit(), Escape: () => this.pin(null) };
    const id = nodeId(event.target);
    const next = id === null ? null : this.nextNode(id, event.key);
    if (event.key in moves) moves[event.key]();
    else if (id !== null && (event.key === "Enter" || event.key === " ")) this.pin(id);
    else if (next !== null) this.shapes.get(next)?.focus();
    else return;
    event.preventDefault();
  }

  /** Where an arrow key leads: up and down along the flows, left and right to the nearest box of the same level. */
  nextNode(id, key) {
    const box = this.boxOf(id);
    const along = { ArrowUp: ["end", "start"], ArrowDown: ["start", "end"] }[key];
    if (along) return this.flows.find((flow) => flow[along[0]] === id)?.[along[1]] ?? null;
    const side = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!side) return null;
    const beside = [...this.boxes].filter(([, other]) => other.level === box.level && (other.x - box.x) * side > 0);
    beside.sort((a, b) => Math.abs(a[1].x - box.x) - Math.abs(b[1].x - box.x));
    return beside[0]?.[0] ?? null;
  }
}

function nodeId(target) {
  return target.closest("[data-node]")?.dataset.node ?? null;
}
