// Renaming, replacing and deleting a recipe of the list; each can be undone.

import { element, replaceContent } from "/shared/dom.js";

import { documentPath, getJson, postJson } from "./api.js";
import { describeProblem } from "./describe.js";
import { t } from "./language.js";
import { openDialog } from "./shell.js";

/**
 * The menu of one recipe. `onDone(sentence, edit)` is called with what was done, and the number that undoes it.
 *
 * @param {{ id: string, title: string | null, has_text: boolean }} row
 * @param {string} layer
 * @param {(sentence: string, edit: number) => void} onDone
 */
export function recipeMenu(row, layer, onDone) {
  const run = async (name, body) => {
    const { edit } = await postJson(`/api/recipes/${encodeURIComponent(row.id)}/${name}`, body);
    onDone(t(`recipe.${name}.done`, { title: row.title ?? row.id }), edit);
  };
  const button = (name, act) => {
    const props = { type: "button", class: "quiet", data: { edit: name }, on: { click: act } };
    return element("li", {}, element("button", props, t(`recipe.${name}`)));
  };
  return element(
    "details",
    { class: "menu recipe-menu" },
    element("summary", { class: "button", "aria-label": t("recipe.menu", { title: row.title ?? row.id }) }, "⋯"),
    element(
      "div",
      { class: "menu-body panel" },
      element(
        "ul",
        {},
        button("rename", () => askName(row, (body) => run("rename", body))),
        row.has_text ? button("replace", () => askText(row, layer, (body) => run("replace", body))) : null,
        button("delete", () => askDelete(row, () => run("delete", {}))),
      ),
    ),
  );
}

function askName({ id, title }, send) {
  openForm(t("recipe.rename"), [field("id", t("import.id"), id), field("title", t("import.name"), title ?? id)], send);
}

async function askText({ id, title }, layer, send) {
  const { sections } = await getJson(documentPath(layer, id));
  const [ingredients, instructions] = sections.map(({ lines }) => lines.map((line) => line.text).join("\n"));
  const fields = [
    element("p", { class: "soft" }, t("recipe.replace.why")),
    field("title", t("import.name"), title ?? id),
    field("ingredients", t("section.ingredients"), ingredients, "textarea"),
    field("instructions", t("section.instructions"), instructions, "textarea"),
  ];
  openForm(t("recipe.replace"), fields, send);
}

function askDelete({ id, title }, send) {
  openForm(t("recipe.delete"), [element("p", {}, t("recipe.delete.why", { title: title ?? id }))], send);
}

/** @type {(name: string, label: string, value: string, kind?: "input" | "textarea") => HTMLElement} */
function field(name, label, value, kind = "input") {
  const more = kind === "input" ? { type: "text", value } : { rows: 8 };
  const input = element(kind, { name, required: name !== "ingredients", ...more });
  if (kind === "textarea") input.textContent = value;
  return element("label", { class: "stack tight" }, label, input);
}

/** A form in a dialog that stays open until what it asks for was done. */
function openForm(title, fields, send) {
  const problem = element("p", { class: "problem", role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await send(Object.fromEntries(new FormData(event.target)));
      dialog.close();
    } catch (refusal) {
      replaceContent(problem, describeProblem(refusal));
    }
  };
  const go = element("div", {}, element("button", { class: "primary" }, title));
  const dialog = openDialog(title, element("form", { class: "stack recipe-form", on: { submit } }, fields, problem, go));
}
