// Notes and the mark "unsure" on an entity, a flow or an image: where they are made, and how they are shown.

import { element } from "/shared/dom.js";

import { t } from "./language.js";
import { openDialog } from "./shell.js";

/** @import { Session } from "./session.js" */
/** @import { AnnotatedDocument, Note } from "./types.js" */

/** @type {(view: AnnotatedDocument, target: string) => Note | null} */
export function noteOn(view, target) {
  return view.notes.find((note) => note.target === target) ?? null;
}

/**
 * The buttons that mark something as unsure and write a note on it; an existing note is shown with them. `hasKey` is
 * false where the key U means something else.
 *
 * @type {(session: Session, target: string, hasKey?: boolean) => HTMLElement}
 */
export function noteTools(session, target, hasKey = true) {
  const note = noteOn(session.view, target);
  const unsure = element(
    "button",
    {
      type: "button",
      class: "small unsure-button",
      "aria-pressed": String(note?.unsure ?? false),
      data: { tool: "unsure", target, key: `unsure ${target}` },
      on: { click: () => toggleUnsure(session, target) },
    },
    t("note.unsure"),
    hasKey ? element("kbd", { "aria-hidden": "true" }, "U") : null,
  );
  const write = element(
    "button",
    {
      type: "button",
      class: "small",
      data: { tool: "note", target, key: `note ${target}` },
      on: { click: () => askForNote(session, target) },
    },
    t(note?.text ? "note.change" : "note.write"),
  );
  const text = note?.text ? element("p", { class: "note-text small" }, note.text) : null;
  return element("div", { class: "note-tools row tight" }, unsure, write, text);
}

/** @type {(session: Session, target: string) => void} */
export function toggleUnsure(session, target) {
  const note = noteOn(session.view, target);
  session.do({ op: "note", target, unsure: !note?.unsure, text: note?.text ?? "" });
}

/** @type {(session: Session, target: string) => void} */
function askForNote(session, target) {
  const note = noteOn(session.view, target);
  const text = element("textarea", { id: "note-text", rows: 4, maxlength: 1000 });
  text.value = note?.text ?? "";
  const unsure = element("input", { type: "checkbox", id: "note-unsure" });
  unsure.checked = note?.unsure ?? true;
  const save = (event) => {
    event.preventDefault();
    const said = { unsure: unsure.checked, text: text.value.trim() };
    if (said.unsure !== (note?.unsure ?? false) || said.text !== (note?.text ?? ""))
      session.do({ op: "note", target, ...said });
    dialog.close();
  };
  const dialog = openDialog(
    t("note.title"),
    element(
      "form",
      { class: "stack recipe-form", on: { submit: save } },
      element("label", { for: "note-text" }, t("note.text")),
      text,
      element("label", { class: "row tight", for: "note-unsure" }, unsure, t("note.unsure.long")),
      element("div", { class: "row" }, element("button", { class: "primary" }, t("note.save"))),
    ),
  );
  text.focus();
}

/**
 * How something looks that may have a note: its class, with other ones, and what to show when pointed at.
 *
 * @type {(note: Note | null, ...classes: (string | false | undefined)[]) => { class: string, title?: string }}
 */
export function noteLook(note, ...classes) {
  const names = [...classes, note && (note.unsure ? "unsure" : "noted")].filter(Boolean).join(" ");
  return note ? { class: names, title: noteSentence(note) } : { class: names };
}

/** @param {{ unsure: boolean, text: string }} note */
export function noteSentence({ unsure, text }) {
  if (!unsure) return t("note.said", { text });
  return text ? t("note.unsure.said", { text }) : t("note.unsure");
}

/** What annotators said, for a curator: who, and whether they were unsure. */
export function notesBy(notes, names) {
  return notes.map(({ by, unsure, text, target }) => {
    const side = /^im:.*:(before|after)$/.exec(target)?.[1];
    const name = !unsure ? "note.by" : text ? "note.by.unsure.why" : "note.by.unsure";
    return element(
      "p",
      { class: unsure ? "note-by unsure small" : "note-by small", data: { noteBy: names[by] } },
      t(name, { layer: names[by], text }),
      side ? element("span", { class: "soft" }, ` (${t(`side.${side}`)})`) : null,
    );
  });
}
