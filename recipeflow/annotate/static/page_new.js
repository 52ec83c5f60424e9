// A new recipe: paste its text, look at what was found in it, drop its film.

import { element, replaceContent } from "/shared/dom.js";

import { postJson } from "./api.js";
import { describeProblem } from "./describe.js";
import { filmField } from "./film_panel.js";
import { startUpload } from "./film_upload.js";
import { t } from "./language.js";
import { RecipesPage, chosenLayer } from "./page_recipes.js";
import { editorAddress, goTo, link, recipesAddress } from "./routes.js";
import { backLink, topBar } from "./shell.js";

/** @import { App, Page, Route } from "./types.js" */

const TYPING_PAUSE = 350;
const FIELDS = ["title", "ingredients", "instructions", "id"];

/** @type {(app: App, route: Route) => Promise<Page>} */
export async function NewPage(app, route) {
  const layer = chosenLayer(app, route);
  if (!layer || !app.server.editing) return RecipesPage(app, route);
  return new NewRecipe(app, layer);
}

class NewRecipe {
  /**
   * @param {App} app
   * @param {string} layer
   */
  constructor(app, layer) {
    this.app = app;
    this.layer = layer;
    /** @type {File | null} */
    this.film = null;
    this.text = element("textarea", { id: "new-text", rows: 9, placeholder: t("new.example") });
    this.text.addEventListener("input", () => this.readSoon());
    this.found = element("p", { class: "soft", role: "status" });
    this.problem = element("p", { class: "problem", role: "alert" });
    this.go = element("button", { class: "primary" }, t("new.add"));
    /** @type {Record<string, HTMLInputElement | HTMLTextAreaElement>} */
    this.fields = {};
    /** @type {Set<string>} What the person wrote is not overwritten. */
    this.written = new Set();
    this.language = this.languageChoice();
    this.draw();
    this.text.focus();
  }

  draw() {
    document.title = t("new.title");
    const submit = (event) => {
      event.preventDefault();
      this.add();
    };
    replaceContent(
      this.app.root,
      topBar(this.app, {
        left: [backLink(link(recipesAddress(this.layer), { class: "back" })), element("h1", {}, t("new.title"))],
      }),
      element(
        "main",
        { class: "page" },
        element(
          "form",
          { class: "new-recipe", on: { submit } },
          this.pasting(),
          this.reading(),
          this.filming(),
        ),
      ),
    );
  }

  pasting() {
    return panel(
      "1",
      t("new.paste"),
      element("label", { for: "new-text", class: "soft" }, t("new.paste.why")),
      this.text,
      this.found,
    );
  }

  reading() {
    return panel(
      "2",
      t("new.check"),
      element("p", { class: "soft" }, t("new.check.why")),
      this.field("title", t("import.name"), "input"),
      this.field("ingredients", t("section.ingredients"), "textarea"),
      this.field("instructions", t("section.instructions"), "textarea"),
      element(
        "div",
        { class: "row end" },
        this.field("id", t("import.id"), "input"),
        this.language && element("label", { class: "stack tight" }, t("new.language"), this.language),
      ),
    );
  }

  filming() {
    return panel(
      "3",
      t("new.film"),
      element("p", { class: "soft" }, t("new.film.why")),
      filmField((file) => {
        this.film = file;
      }),
      this.problem,
      element("div", {}, this.go),
    );
  }

  /** @type {(name: string, label: string, kind: "input" | "textarea") => HTMLElement} */
  field(name, label, kind) {
    const more = kind === "input" ? { type: "text", autocomplete: "off" } : { rows: name === "ingredients" ? 6 : 8 };
    const input = element(kind, { id: `new-${name}`, required: name !== "ingredients", ...more });
    input.addEventListener("input", () => this.written.add(name));
    this.fields[name] = input;
    return element("label", { class: "stack tight" }, label, input);
  }

  /** The first recipe says in which language all of them are. */
  languageChoice() {
    if (this.app.server.recipes) return null;
    const option = (code) => element("option", { value: code }, t(`new.language.${code}`));
    const choice = element("select", { id: "new-language" }, option("en"), option("ja"));
    choice.value = this.app.server.language;
    choice.addEventListener("change", () => this.written.add("language"));
    return choice;
  }

  readSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.read(), TYPING_PAUSE);
  }

  async read() {
    const text = this.text.value;
    try {
      const found = await postJson("/api/import/read", { text });
      if (this.closed || this.text.value !== text) return;
      for (const name of FIELDS) if (!this.written.has(name)) this.fields[name].value = found[name];
      if (this.language && found.language && !this.written.has("language")) this.language.value = found.language;
      this.showFound(found);
    } catch (problem) {
      replaceContent(this.found, describeProblem(problem));
    }
  }

  showFound(found) {
    const count = (name) => found[name].split("\n").filter(Boolean).length;
    const counts = { ingredients: count("ingredients"), instructions: count("instructions") };
    const rest = found.left_out.length
      ? [" ", t("new.leftout", { lines: found.left_out.map((line) => `“${line}”`).join(", ") })]
      : null;
    replaceContent(this.found, this.text.value.trim() ? [t("new.found", counts), rest] : null);
  }

  async add() {
    const body = Object.fromEntries(FIELDS.map((name) => [name, this.fields[name].value]));
    this.go.disabled = true;
    try {
      const { id } = await postJson("/api/import/text", {
        ...body,
        ...(this.language ? { language: this.language.value } : {}),
      });
      if (this.film) startUpload(id, this.film);
      window.scrollTo(0, 0);
      goTo(editorAddress(id, "words", this.layer));
    } catch (refusal) {
      this.go.disabled = false;
      replaceContent(this.problem, describeProblem(refusal));
    }
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }
}

function panel(number, title, ...content) {
  const head = element("h2", {}, element("span", { class: "step-mark", "aria-hidden": "true" }, number), " ", title);
  return element("section", { class: "panel stack" }, head, content);
}
