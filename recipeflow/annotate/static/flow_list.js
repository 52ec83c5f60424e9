// All flows as a list: of the entity at hand, or of the whole recipe; each can be chosen, re-labelled and deleted.

import { flowKey } from "/shared/arcs.js";
import { element, replaceContent } from "/shared/dom.js";

import { entityText } from "./describe.js";
import { t } from "./language.js";
import { noteOn, noteSentence } from "./note_tools.js";
import { flowTarget } from "./predict_notes.js";
import { keepFocus } from "./shell.js";

/** @import { AnnotatedDocument, AnnotatedFlow, Note } from "./types.js" */

export class FlowList {
  /** @type {AnnotatedDocument} */
  view;
  /** @type {string | null} */
  entity;
  /** @type {AnnotatedFlow[]} */
  shown;

  constructor({ onFocus, onChoose, onDelete }) {
    this.handlers = { onFocus, onChoose, onDelete };
    this.labels = null;
    this.drawn = null;
    this.drawnRows = new Map();
    this.title = element("h3");
    this.rows = element("ul", { class: "flow-rows" });
    this.element = element("div", { class: "flow-list" }, this.title, this.rows);
    this.rows.addEventListener("pointerover", (event) => onFocus(this.flowAt(event.target)));
    this.rows.addEventListener("pointerleave", () => onFocus(null));
    this.rows.addEventListener("click", (event) => this.act(event));
  }

  flowAt(target) {
    const row = target.closest("li");
    return (row && this.shown.find((flow) => flowKey(flow) === row.dataset.flow)) ?? null;
  }

  act(event) {
    const flow = this.flowAt(event.target);
    if (!flow) return;
    if (event.target.closest(".delete")) this.handlers.onDelete(flow);
    else if (event.target.closest("button")) this.handlers.onChoose(flow);
  }

  filter(labels) {
    this.labels = labels;
    this.drawn = null;
    this.update(this.view, this.entity);
  }

  /**
   * @param {AnnotatedDocument} view
   * @param {string | null} entity
   */
  update(view, entity) {
    if (this.drawn === view && this.entity === entity) return;
    this.view = view;
    this.entity = entity;
    this.drawn = view;
    const isMeant = (flow) =>
      (entity ? flow.start === entity || flow.end === entity : true) &&
      (this.labels === null || this.labels.has(flow.label));
    const order = new Map(view.entities.map((each, i) => [each.id, i]));
    const placeOf = (id) => order.get(id) ?? order.size;
    this.shown = view.flows
      .filter(isMeant)
      .sort((a, b) => placeOf(a.start) - placeOf(b.start) || placeOf(a.end) - placeOf(b.end));
    const names = new Map();
    const nameOfEntity = (id) => names.get(id) ?? names.set(id, entityText(view, id)).get(id);
    replaceContent(
      this.title,
      entity ? t("flows.here", { entity: nameOfEntity(entity) }) : t("flows.list", { count: view.flows.length }),
    );
    const old = this.drawnRows;
    this.drawnRows = new Map(
      this.shown.map((flow) => {
        const note = noteOn(view, flowTarget(flow));
        const said = note ? noteSentence(note) : "";
        const stamp = `${flowKey(flow)} ${nameOfEntity(flow.start)} ${nameOfEntity(flow.end)} ${flow.pending} ${said}`;
        return [stamp, old.get(stamp) ?? flowRow(flow, nameOfEntity, view.language, note)];
      }),
    );
    keepFocus(this.rows, () => this.rows.replaceChildren(...this.drawnRows.values()));
  }
}

/** @type {(flow: AnnotatedFlow, nameOfEntity: (id: string) => string, lang: string, note: Note | null) => HTMLElement} */
function flowRow(flow, nameOfEntity, lang, note) {
  const text = `${nameOfEntity(flow.start)} → ${nameOfEntity(flow.end)}`;
  return element(
    "li",
    { data: { flow: flowKey(flow) }, class: flow.pending ? "pending" : "" },
    element(
      "button",
      { type: "button", class: "quiet flow-row", data: { key: `flow ${flowKey(flow)}` } },
      element("span", { class: "flow-text", lang }, text),
      note ? element("span", { class: "note-flag", title: noteSentence(note) }, note.unsure ? "?" : "✎") : null,
      element("b", { class: `flow-label label-${flow.label}` }, flow.label),
    ),
    element(
      "button",
      {
        type: "button",
        class: "quiet icon delete",
        "aria-label": `${t("flows.delete")}: ${text} ${flow.label}`,
        title: t("flows.delete"),
      },
      "×",
    ),
  );
}
