// The objects of every action, in the order in which they are annotated; each list can be edited by hand.

import { element, replaceContent } from "/shared/dom.js";
import { shownEntity } from "/shared/words.js";

import { entityText, sideText } from "./describe.js";
import { showThumbnail } from "./filmstrip.js";
import { t } from "./language.js";
import { noteOn, noteSentence } from "./note_tools.js";
import { keepFocus, openDialog } from "./shell.js";

/** @import { Session } from "./session.js" */
/** @import { AnnotatedDocument, AnnotatedPair } from "./types.js" */

export class ObjectList {
  /** @type {AnnotatedDocument} */
  view;

  /**
   * `onChoose(action, key)` is called with the action and pair that were clicked, `session` takes the edits.
   *
   * @param {Session} session
   * @param {(action: string, key: string | null) => void} onChoose
   */
  constructor(session, onChoose) {
    this.session = session;
    this.onChoose = onChoose;
    this.element = element("div", { class: "object-list" });
    /** @type {Map<string, HTMLElement>} */
    this.drawn = new Map();
  }

  /**
   * Draw again what changed: a click concerns one or two actions, not all of them.
   *
   * @param {AnnotatedDocument} view
   * @param {{ action: string | null, key: string | null }} current
   */
  update(view, current) {
    this.view = view;
    const pairs = Map.groupBy(view.objects, (pair) => pair.action);
    const old = this.drawn;
    this.drawn = new Map(
      view.actions.map((action, i) => this.drawGroup(action, pairs.get(action.action) ?? [], current, i, old)),
    );
    if ([...this.drawn.keys()].join() === [...old.keys()].join()) return;
    keepFocus(this.element, () => this.exchange([...old.values()], [...this.drawn.values()]));
    if (this.shownKey !== current.key)
      this.element.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    this.shownKey = current.key;
  }

  exchange(old, nodes) {
    if (old.length !== nodes.length) replaceContent(this.element, nodes);
    else nodes.forEach((node, i) => node !== old[i] && old[i].replaceWith(node));
  }

  /**
   * An action's part of the list under a name that says all it shows, so that it is only made anew when that differs.
   *
   * @returns {[name: string, group: HTMLElement]}
   */
  drawGroup(action, pairs, current, number, old) {
    const texts = [action.action, ...action.traced, ...pairs.map((pair) => pair.object)].map((id) =>
      entityText(this.view, id),
    );
    const isCurrent = action.action === current.action;
    const notes = this.view.notes.filter(({ target }) => target.startsWith(`im:${action.action}/`));
    const name = JSON.stringify([action, pairs, texts, notes, number, isCurrent ? current.key : false]);
    return [name, old.get(name) ?? this.group(this.view, action, pairs, current, number)];
  }

  group(view, { action, linked, traced }, pairs, current, number) {
    const isCurrent = action === current.action;
    const name = entityText(view, action);
    const head = element(
      "button",
      {
        type: "button",
        class: "quiet action-head",
        data: { action, key: `action ${action}` },
        on: { click: () => this.onChoose(action, pairs[0]?.key ?? null) },
      },
      element("span", { class: "soft" }, number + 1),
      element("span", { class: "entity tag-Ac", lang: view.language }, name),
      linked ? null : element("span", { class: "soft small" }, t("frames.edited")),
    );
    const rows = pairs.map((pair, i) => this.row(view, pair, i, pairs.length, pair.key === current.key));
    return element(
      "section",
      { class: isCurrent ? "object-group current" : "object-group" },
      head,
      element("ul", {}, rows),
      isCurrent ? this.editing(view, { action, linked, traced, name }) : null,
    );
  }

  /** @type {(view: AnnotatedDocument, pair: AnnotatedPair, index: number, count: number, isCurrent: boolean) => HTMLElement} */
  row(view, pair, index, count, isCurrent) {
    const name = entityText(view, pair.object);
    const sides = ["before", "after"].map((side) => this.sideBox(view, pair, side));
    const open = pair.before === null || pair.after === null;
    const main = element(
      "button",
      {
        type: "button",
        class: "quiet object-row",
        "aria-current": isCurrent ? "true" : null,
        data: { object: pair.key, key: `object ${pair.key}` },
        on: { click: () => this.onChoose(pair.action, pair.key) },
      },
      element("span", { class: open ? "object-state" : "object-state done", "aria-hidden": "true" }, open ? "○" : "✓"),
      element(
        "span",
        { class: "object-name", lang: view.language },
        name,
        pair.traced ? null : element("small", { class: "soft", title: t("frames.untraced") }, " ∗"),
      ),
      ["before", "after"].map((side) => {
        const note = noteOn(view, `im:${pair.key}:${side}`);
        const title = note && `${t(`frames.${side}`)}: ${noteSentence(note)}`;
        return note ? element("span", { class: "note-flag", title }, note.unsure ? "?" : "✎") : null;
      }),
      sides,
    );
    const small = (key, sign, operation, disabled) =>
      element(
        "button",
        {
          type: "button",
          class: "quiet icon small",
          title: t(key),
          "aria-label": `${t(key)}: ${name}`,
          disabled,
          data: { key: `${key} ${pair.key}` },
          on: { click: () => this.session.do(operation) },
        },
        sign,
      );
    const tools = isCurrent && [
      small("frames.up", "↑", { op: "move_object", key: pair.key, position: index - 1 }, index === 0),
      small("frames.down", "↓", { op: "move_object", key: pair.key, position: index + 1 }, index === count - 1),
      small("frames.remove", "×", { op: "remove_object", key: pair.key }, false),
    ];
    return element(
      "li",
      { class: pair.pending ? "pending" : "" },
      main,
      tools ? element("span", { class: "object-tools" }, tools) : null,
    );
  }

  sideBox(view, pair, side) {
    const value = pair[side];
    const label = `${t(`frames.${side}`)}: ${sideText(value)}`;
    const box = element("span", {
      class: `side-box ${typeof value === "number" ? "" : value === "none" ? "hidden-side" : "unset-side"}`,
      role: "img",
      "aria-label": label,
      title: label,
      data: { side, value: value ?? "" },
    });
    if (typeof value === "number" && view.frames) return showThumbnail(box, view.frames, value, 58, 36);
    box.textContent = typeof value === "number" ? String(value) : value === "none" ? "∅" : "";
    return box;
  }

  editing(view, { action, linked, traced, name }) {
    const add = element(
      "button",
      {
        type: "button",
        class: "small",
        data: { tool: "add", key: `add ${action}` },
        on: { click: () => this.askForObject(action, name) },
      },
      `+ ${t("frames.add")}`,
    );
    const reset = element(
      "button",
      { type: "button", class: "small", on: { click: () => this.session.do({ op: "reset_objects", action }) } },
      t("frames.reset"),
    );
    const objects = traced.map((id) => entityText(view, id)).join("、") || "–";
    return element(
      "div",
      { class: "row tight object-editing" },
      add,
      linked ? null : [reset, element("small", { class: "soft" }, t("frames.traced.now", { objects }))],
    );
  }
  /** Every entity but the action itself, line by line, to choose the object from. */
  askForObject(action, name) {
    const { view } = this;
    const choose = (object) => {
      dialog.close();
      this.session.do({ op: "add_object", action, object });
    };
    const button = (id, text, tag) =>
      element(
        "button",
        { type: "button", lang: view.language, data: { choose: id ?? "" }, on: { click: () => choose(id) } },
        text,
        tag ? element("span", { class: `tag-sample tag-${tag}` }, tag) : null,
      );
    const lines = Map.groupBy(
      view.entities.filter((entity) => entity.id !== action),
      (entity) => `${entity.section}-${entity.line}`,
    );
    const rows = [...lines.values()].map((line) =>
      element(
        "div",
        { class: "row tight" },
        line.map((entity) => button(entity.id, shownEntity(view, entity), entity.tag)),
      ),
    );
    const dialog = openDialog(
      t("frames.add.to", { action: name }),
      element("div", { class: "stack" }, rows, element("div", {}, button(null, t("object.unnamed"), null))),
    );
  }
}
