// Step 2: flows between entities. Click where one starts and where it ends, or drag, then choose a label.

import { ArcLayer, flowKey, labelFilter } from "/shared/arcs.js";
import { element, findAll, replaceContent } from "/shared/dom.js";
import { recipeText, refreshText } from "/shared/words.js";

import { entityText } from "./describe.js";
import { EntityFinder } from "./entity_finder.js";
import { FlowList } from "./flow_list.js";
import { FlowPointer } from "./flow_pointer.js";
import { labelName, t } from "./language.js";
import { likelyEnds, likelyLabel } from "./likely_flow.js";
import { nearestRow } from "./nearest_row.js";
import { noteLook, noteOn, noteTools, toggleUnsure } from "./note_tools.js";
import { flowTarget } from "./predict_notes.js";
import { focusedElement, keepFocus, placeBeside } from "./shell.js";
import { openSuggestions } from "./suggestions.js";

/** @import { Flow } from "/shared/types.js" */
/** @import { Editor } from "./editor.js" */
/** @import { AnnotatedDocument, Suggestion } from "./types.js" */

/** The keys of the labels; a corpus with even more labels has buttons without a key. */
const LABEL_KEYS = "1234567890qwertyuiop";

export class FlowsStep {
  /** @type {AnnotatedDocument} */
  view;
  /** @type {string | undefined} */
  stop;
  /** @type {string | null} */
  proposed = null;
  /** @type {string | null} Where the key N began last. */
  begun = null;

  /** @param {Editor} editor */
  constructor(editor) {
    this.session = editor.session;
    this.likely = editor.app.server.likely;
    this.labels = Object.keys(editor.app.server.labels);
    /** @type {string | null} */
    this.start = null;
    /**
     * What the choice of labels is open for.
     *
     * @type {{ start: string, end: string, flow: Flow | null, suggestion: Suggestion | null } | null}
     */
    this.chosen = null;
    /** @type {Map<string, HTMLElement>} */
    this.spans = new Map();
    this.text = element("div");
    this.host = element("div", { class: "arc-host flow-host" }, this.text);
    this.arcs = new ArcLayer(this.host, { onPick: (flow) => this.pickFlow(flow) });
    this.floating = element("div", {
      class: "floating panel label-choice",
      role: "toolbar",
      "aria-label": t("flows.choose"),
      hidden: true,
    });
    this.scroller = element("div", { class: "text-scroller panel" }, this.host, this.floating);
    this.main = element("div", { class: "step-main" }, this.scroller);
    this.said = element("p", { class: "selection-said", "aria-live": "polite" });
    this.open = element("div", { class: "open-entities" });
    this.list = new FlowList({
      onFocus: (flow) => this.arcs.focus(flow && ((each) => flowKey(each) === flowKey(flow))),
      onChoose: (flow) => this.pickFlow(flow),
      onDelete: (flow) => this.unflow(flow),
    });
    this.filter = labelFilter(this.labels, {
      nameLabel: labelName,
      onChange: (labels) => this.showLabels(labels),
    });
    this.finder = new EntityFinder({
      getView: () => this.view,
      onLook: (id) => this.look(id),
      onChoose: (id) => this.chooseFound(id),
    });
    this.side = element(
      "section",
      { class: "stack" },
      this.said,
      this.finder.input,
      this.open,
      element("h3", {}, t("flows.show")),
      this.filter,
      this.list.element,
    );
    this.pointer = new FlowPointer(this.host, {
      onClick: (id) => this.click(id),
      onDrag: (start, end) => this.openPair(start, end),
      onHover: (id) => this.hover(id),
      onNothing: () => this.cancel(),
    });
    this.resize = new ResizeObserver(() => this.onResize());
  }

  opened() {
    this.width = this.host.offsetWidth;
    this.resize.observe(this.host);
  }

  onResize() {
    if (this.host.offsetWidth === this.width) return;
    this.width = this.host.offsetWidth;
    this.arcs.redraw();
  }

  /** @param {AnnotatedDocument} view */
  update(view) {
    this.view = view;
    this.forgetMissing();
    const open = new Set(view.unconnected);
    const look = (entity) => ({
      role: "button",
      tabindex: -1,
      data: { key: `entity ${entity.id}` },
      ...noteLook(noteOn(view, `ne:${entity.id}`), open.has(entity.id) && "open", entity.pending && "pending"),
    });
    if (!view.entities.some((entity) => entity.id === this.stop)) this.stop = view.entities[0]?.id;
    const options = { heading: (name) => t(`section.${name}`), entityProps: look };
    keepFocus(this.host, () =>
      this.text.firstChild ? refreshText(this.text, view, options) : this.text.append(recipeText(view, options)),
    );
    this.spans = new Map(findAll(this.host, "[data-entity]").map((span) => [span.dataset.entity ?? "", span]));
    this.drawArcs();
    this.drawOpen();
    this.list.update(view, this.start);
    this.drawChoice();
  }

  drawArcs() {
    const suggested = openSuggestions(this.view, "flow").map((suggestion) => ({
      ...suggestion.item,
      className: "suggested",
      suggestion,
    }));
    const unsure = new Set(this.view.notes.filter((note) => note.unsure).map((note) => note.target));
    const made = this.view.flows.map((flow) => {
      const className = `${flow.pending ? "pending" : ""} ${unsure.has(flowTarget(flow)) ? "unsure" : ""}`.trim();
      return className ? { ...flow, className } : flow;
    });
    this.arcs.draw([...made, ...suggested]);
    this.focusArcs();
  }

  drawOpen() {
    const ids = this.view.unconnected;
    const chips = ids.map((id) => {
      const look = () => {
        this.click(id);
        this.spans.get(id)?.scrollIntoView({ block: "center" });
      };
      return element(
        "button",
        { type: "button", class: "small", lang: this.view.language, data: { key: `open ${id}` }, on: { click: look } },
        entityText(this.view, id),
      );
    });
    replaceContent(
      this.open,
      element("h3", {}, t("flows.open", { count: ids.length })),
      ids.length
        ? element("div", { class: "row tight wrap" }, chips)
        : element("p", { class: "soft small" }, t("flows.open.none")),
    );
  }

  forgetMissing() {
    const has = (id) => this.view.entities.some((entity) => entity.id === id);
    if (this.start && !has(this.start)) this.start = null;
    if (this.chosen && !(has(this.chosen.start) && has(this.chosen.end))) this.chosen = null;
  }

  showLabels(labels) {
    this.arcs.filter(labels);
    this.list.filter(labels);
  }

  click(id) {
    if (this.start === id) return this.cancel();
    if (this.start && !this.chosen) return this.openPair(this.start, id);
    this.chosen = null;
    this.start = id;
    this.stop = id;
    return this.drawChoice();
  }

  openPair(start, end) {
    this.start = start;
    this.chosen = { start, end, flow: null, suggestion: null };
    this.drawChoice();
  }

  pickFlow(flow) {
    this.start = flow.start;
    this.chosen = { start: flow.start, end: flow.end, flow, suggestion: flow.suggestion ?? null };
    this.drawChoice();
  }

  cancel() {
    this.start = null;
    this.chosen = null;
    this.drawChoice();
  }

  /** Show an entity that was found, without choosing it. */
  look(id) {
    for (const [each, span] of this.spans) span.classList.toggle("found", each === id);
    if (id) this.spans.get(id)?.scrollIntoView({ block: "nearest" });
    this.hover(id);
  }

  chooseFound(id) {
    this.click(id);
    this.focusEntity(id);
  }

  /**
   * The key N: begin at the next entity from which no flow starts, and go to where one probably ends. Nearly every
   * entity has exactly one; pressed again, N leaves an entity out until it comes round.
   */
  beginNext() {
    const { entities, flows } = this.view;
    const started = new Set(flows.map((flow) => flow.start));
    const from = entities.findIndex((entity) => entity.id === (this.start ?? this.begun));
    const round = [...entities.slice(from + 1), ...entities.slice(0, from + 1)];
    const start = round.find((entity) => !started.has(entity.id));
    if (!start) return;
    this.chosen = null;
    this.start = start.id;
    this.begun = start.id;
    this.drawChoice();
    this.focusEntity(likelyEnds(this.likely, this.view, start)[0]?.id ?? start.id);
  }

  /** The keys J and K: go to the next or previous likely end of the flow that was begun. */
  tryEnd(step) {
    const start = this.view.entities.find((entity) => entity.id === this.start);
    if (!start) return;
    this.chosen = null;
    const ends = likelyEnds(this.likely, this.view, start).map((entity) => entity.id);
    const focused = focusedElement()?.dataset.entity ?? "";
    const to = ends.at((ends.indexOf(focused) + step) % ends.length);
    this.drawChoice();
    if (to) this.focusEntity(to);
  }

  /** @param {string} id */
  focusEntity(id) {
    this.stop = id;
    for (const [each, span] of this.spans) span.tabIndex = each === id ? 0 : -1;
    this.spans.get(id)?.focus();
    this.hover(id);
  }

  hover(id) {
    if (id) this.arcs.focus((flow) => flow.start === id || flow.end === id);
    else this.focusArcs();
  }

  /** Without a pointer on something, what is chosen has the focus. */
  focusArcs() {
    const { chosen, start } = this;
    const key = chosen?.flow && flowKey(chosen.flow);
    if (key) this.arcs.focus((flow) => flowKey(flow) === key);
    else if (start) this.arcs.focus((flow) => flow.start === start || flow.end === start);
    else this.arcs.focus(null);
  }

  drawChoice() {
    if (!this.view) return;
    for (const [id, span] of this.spans) {
      span.classList.toggle("flow-start", id === this.start);
      span.classList.toggle("flow-end", id === this.chosen?.end);
      span.tabIndex = id === this.stop ? 0 : -1;
    }
    this.focusArcs();
    this.list.update(this.view, this.start);
    const names = {
      start: this.start && entityText(this.view, this.start),
      end: this.chosen && entityText(this.view, this.chosen.end),
    };
    replaceContent(
      this.said,
      this.chosen ? t("flows.pair", names) : this.start ? t("flows.from", names) : t("flows.hint"),
    );
    this.floating.hidden = !this.chosen;
    if (this.chosen) this.drawLabels(names, this.chosen);
  }

  drawLabels(names, { start, end, flow, suggestion }) {
    const ends = [start, end].map((id) => this.view.entities.find((entity) => entity.id === id));
    const tags = ends.map((entity) => entity?.tag);
    this.proposed = flow ? null : ends[0] && ends[1] ? likelyLabel(this.likely, this.view, ends[0], ends[1]) : null;
    if (this.proposed && !this.labels.includes(this.proposed)) this.proposed = null; // a release may declare fewer
    const likely = new Set(this.likely[tags.join(">")] ?? []);
    const there = new Set(
      this.view.flows.filter((each) => each.start === start && each.end === end).map((each) => each.label),
    );
    const choices = this.labels.map((id, i) =>
      element(
        "button",
        {
          type: "button",
          class: `label-button label-${id} ${likely.has(id) || id === this.proposed ? "" : "unlikely"} ${id === this.proposed ? "proposed" : ""}`,
          "aria-pressed": String(there.has(id)),
          title: likely.has(id) ? null : t("flows.unlikely", { start: tags[0], end: tags[1] }),
          data: { label: id },
          on: { click: () => this.choose(id) },
        },
        element("kbd", { "aria-hidden": "true" }, LABEL_KEYS[i]?.toUpperCase()),
        element("b", {}, id, id === this.proposed ? element("kbd", { class: "accepts" }, "Enter") : null),
        element("span", {}, labelName(id)),
      ),
    );
    const small = (name, act) =>
      element("button", { type: "button", class: "small", data: { tool: name }, on: { click: act } }, t(name));
    const tools = suggestion
      ? [
          small("suggest.accept", () => this.settle(suggestion, true)),
          small("suggest.reject", () => this.settle(suggestion, false)),
          element("span", { class: "origin" }, suggestion.origin),
        ]
      : [flow ? small("flows.delete", () => this.unflow(flow)) : null];
    replaceContent(
      this.floating,
      element(
        "div",
        { class: "row spread" },
        element("strong", { lang: this.view.language }, t("flows.pair", names)),
        element(
          "div",
          { class: "row tight" },
          tools,
          small("flows.cancel", () => this.cancel()),
        ),
      ),
      flow && !suggestion ? noteTools(this.session, flowTarget(flow)) : null,
      flow && !suggestion ? element("p", { class: "soft small" }, t("flows.relabel")) : null,
      element("div", { class: "label-grid" }, choices),
    );
    const box = this.spans.get(end)?.getBoundingClientRect();
    if (box) placeBeside(this.floating, this.scroller, box);
  }

  choose(label) {
    if (!this.chosen) return;
    const { start, end, flow, suggestion } = this.chosen;
    this.start = null;
    this.chosen = null;
    if (flow && !suggestion) {
      if (flow.label !== label) this.session.do({ op: "relabel", start, end, label: flow.label, to: label });
      else this.drawChoice();
    } else this.session.do({ op: "flow", start, end, label });
  }

  unflow({ start, end, label }) {
    this.start = null;
    this.chosen = null;
    this.session.do({ op: "unflow", start, end, label });
  }

  settle({ key, kind, item, origin }, accept) {
    this.cancel();
    if (accept) this.session.do({ op: "accept", origin, items: [{ key, kind, item }], replace: false });
    else this.session.do({ op: "reject", origin, keys: [key] });
  }

  /** Choose the entity or flow that a link leads to. */
  goTo(at) {
    const flow = this.view.flows.find((each) => flowKey(each) === at);
    const id = flow?.end ?? at;
    if (!this.spans.has(id)) return;
    this.spans.get(id)?.scrollIntoView({ block: "center" });
    if (flow) this.pickFlow(flow);
    else this.chooseFound(id);
  }

  onKey(event) {
    const focused = focusedElement()?.dataset.entity;
    const onButton = focusedElement() instanceof HTMLButtonElement;
    const label = LABEL_KEYS.indexOf(event.key.toLowerCase());
    if (this.chosen && event.key.length === 1 && this.labels[label]) return (this.choose(this.labels[label]), true);
    if (event.key === "Enter" && this.chosen && this.proposed && !onButton) return (this.choose(this.proposed), true);
    if ((event.key === "Enter" || event.key === " ") && focused) return (this.click(focused), true);
    if (event.key === "n" || event.key === "N") return (this.beginNext(), true);
    if (event.key === "j" || event.key === "k") return (this.tryEnd(event.key === "j" ? 1 : -1), true);
    if (event.key === "/" || event.key === "f") return (this.finder.open(), true);
    if ((event.key === "u" || event.key === "U") && this.chosen?.flow && !this.chosen.suggestion)
      return (toggleUnsure(this.session, flowTarget(this.chosen.flow)), true);
    if (event.key === "Escape") return (this.cancel(), true);
    if ((event.key === "Delete" || event.key === "Backspace") && this.chosen?.flow)
      return (this.unflow(this.chosen.flow), true);
    return event.key.startsWith("Arrow") && this.moveFocus(event.key, focused);
  }

  /**
   * Arrow keys walk over the entities: left and right in reading order, up and down to the nearest of the next row.
   */
  moveFocus(key, focused) {
    const ids = [...this.spans.keys()];
    const from = focused ?? this.stop;
    if (!ids.length) return false;
    const at = ids.indexOf(from);
    const sideways = { ArrowLeft: at - 1, ArrowRight: at + 1 }[key];
    const to =
      focused === undefined
        ? from
        : sideways === undefined
          ? nearestRow(this.spans, from, key === "ArrowUp" ? -1 : 1)
          : ids[sideways];
    if (to === undefined || to === null) return true;
    this.focusEntity(to);
    return true;
  }

  close() {
    this.pointer.close();
    this.resize.disconnect();
  }
}
