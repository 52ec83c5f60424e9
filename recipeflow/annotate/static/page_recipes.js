// The list of recipes with an annotator's progress, and the choice of the annotator.

import { element, replaceContent } from "/shared/dom.js";

import { getJson, layerPath, postJson } from "./api.js";
import { describeProblem } from "./describe.js";
import { openImport } from "./importing.js";
import { t } from "./language.js";
import { countUnsent, sendLeftovers } from "./outbox.js";
import { whenReleased } from "./pressing.js";
import { agreementAddress, editorAddress, goTo, link, newAddress, recipesAddress } from "./routes.js";
import { recipeMenu } from "./recipe_menu.js";
import { reviewLinks } from "./review_links.js";
import { topBar } from "./shell.js";
import { workPlan } from "./work_plan.js";

const KEPT = "vrf-annotator";
const LOOK_AGAIN = 2000;

/** @import { App, Page, Route } from "./types.js" */

/** The annotator named by the address, the server or an earlier visit; null if there is none. */
export function chosenLayer(app, route) {
  const names = app.server.layers.map((layer) => layer.name);
  const wanted = [route.layer, app.server.annotator, localStorage.getItem(KEPT)];
  return wanted.find((name) => name && names.includes(name)) ?? null;
}

/** @type {(app: App, route: Route) => Promise<Page>} */
export async function RecipesPage(app, route) {
  const layer = chosenLayer(app, route);
  if (!layer) return chooseAnnotator(app, route);
  localStorage.setItem(KEPT, layer);
  const listing = await getJson(`${layerPath(layer)}/recipes`);
  const page = new Recipes(app, layer, listing);
  page.draw();
  return page;
}

function chooseAnnotator(app, route) {
  const name = element("input", {
    type: "text",
    id: "new-name",
    maxlength: 40,
    autocomplete: "off",
    value: route.layer ?? "",
  });
  const problem = element("p", { class: "problem", role: "alert" });
  const begin = async (event) => {
    event.preventDefault();
    try {
      const made = await postJson("/api/layers", { name: name.value.trim() });
      goTo(recipesAddress(made.name), { replace: true });
    } catch (refusal) {
      replaceContent(problem, describeProblem(refusal));
    }
  };
  const known = app.server.layers.map((layer) => link(recipesAddress(layer.name), { class: "button" }, layer.name));
  replaceContent(
    app.root,
    topBar(app, { left: [element("strong", {}, t("site.name")), element("span", { class: "soft" }, t("site.task"))] }),
    element(
      "main",
      { class: "page narrow" },
      element("h1", {}, t("recipes.choose")),
      element("p", { class: "soft" }, t("recipes.choose.why")),
      known.length ? element("div", { class: "row" }, known) : null,
      element(
        "form",
        { class: "panel stack", on: { submit: begin } },
        element("label", { for: "new-name" }, t("recipes.new.name")),
        element("div", { class: "row" }, name, element("button", { class: "primary" }, t("recipes.begin"))),
        problem,
      ),
    ),
  );
  name.focus();
  return { close() {} };
}

class Recipes {
  constructor(app, layer, listing) {
    this.app = app;
    this.layer = layer;
    this.listing = listing;
    this.wanted = "";
    this.body = element("tbody");
    this.edited = element("div", { role: "status" });
    this.closed = false;
    this.refill = () => this.fillRows();
    this.leftovers = sendLeftovers(layer, () => whenReleased(this.refill));
  }

  draw() {
    document.title = `${this.title()} · ${this.layer}`;
    const search = element("input", {
      type: "search",
      placeholder: t("recipes.search"),
      "aria-label": t("recipes.search"),
    });
    search.addEventListener("input", () => {
      this.wanted = search.value.trim().toLowerCase();
      this.fillRows();
    });
    const heads = ["recipe", "words", "flows", "frames", "suggested"].map((name) =>
      element("th", { scope: "col" }, t(`recipes.${name}`)),
    );
    const more = element("td");
    replaceContent(
      this.app.root,
      topBar(this.app, {
        left: [element("strong", {}, t("site.name")), element("span", { class: "soft" }, t("site.task"))],
        right: [this.annotatorChoice()],
      }),
      element(
        "main",
        { class: "page" },
        element(
          "div",
          { class: "row spread" },
          element("h1", {}, this.title()),
          this.tools(),
        ),
        this.edited,
        this.listing.recipes.length
          ? [
              element("div", { class: "row spread" }, element("p", { class: "soft" }, this.totals()), search),
              workPlan(this.layer, this.listing.recipes),
              element(
                "table",
                { class: "recipes panel" },
                element("thead", {}, element("tr", {}, heads, more)),
                this.body,
              ),
            ]
          : this.nothingYet(),
      ),
    );
    this.fillRows();
  }

  title() {
    const { release } = this.app.server;
    return release ? t("recipes.title", { release }) : t("recipes.title.own");
  }

  nothingYet() {
    if (!this.app.server.editing) return element("p", { class: "panel" }, t("recipes.empty.annotator"));
    return element(
      "section",
      { class: "panel stack nothing-yet" },
      element("h2", {}, t("recipes.empty")),
      element("p", {}, t("recipes.empty.why")),
      element("div", {}, link(newAddress(this.layer), { class: "button primary" }, t("recipes.add"))),
    );
  }

  annotatorChoice() {
    const options = this.app.server.layers.map(({ name, kind }) =>
      element("option", { value: name, selected: name === this.layer }, kind === "gold" ? t("recipes.gold") : name),
    );
    const more = element("option", { value: "" }, `${t("recipes.new")}…`);
    const select = element("select", { id: "annotator" }, options, more);
    select.addEventListener("change", () => {
      if (select.value) return goTo(recipesAddress(select.value));
      return chooseAnnotator(this.app, { layer: null });
    });
    return element("label", { class: "row tight", for: "annotator" }, t("recipes.who"), select);
  }

  tools() {
    const layers = this.app.server.layers.filter((layer) => layer.kind !== "gold").map((layer) => layer.name);
    const agreement = this.app.server.curating
      ? link(
          layers.length > 1 ? agreementAddress(layers[0], layers[1]) : "/agreement",
          { class: "button" },
          t("recipes.agreement"),
        )
      : null;
    return element(
      "div",
      { class: "row" },
      link(`/guide?layer=${encodeURIComponent(this.layer)}`, { class: "button" }, t("recipes.guide")),
      this.app.server.editing
        ? [
            link(newAddress(this.layer), { class: "button" }, t("recipes.add")),
            element("button", { type: "button", on: { click: () => openImport(this.app) } }, t("recipes.import")),
          ]
        : null,
      this.exportMenu(),
      ...reviewLinks(this.layer),
      agreement,
    );
  }

  exportMenu() {
    const finished = element("input", { type: "checkbox", id: "only-finished" });
    const links = ["release", "text", "brat"].map((format) => {
      const anchor = element("a", { download: true }, t(`export.${format}`));
      const aim = () =>
        anchor.setAttribute(
          "href",
          `${layerPath(this.layer)}/export?format=${format}${finished.checked ? "&done=true" : ""}`,
        );
      finished.addEventListener("change", aim);
      aim();
      return element("li", {}, anchor);
    });
    const choice = element("label", { class: "row tight", for: "only-finished" }, finished, t("export.done"));
    return element(
      "details",
      { class: "menu" },
      element("summary", { class: "button" }, t("recipes.export")),
      element("div", { class: "menu-body panel" }, element("ul", {}, links), choice),
    );
  }

  totals() {
    const { recipes, done, human, accepted, unsure } = this.listing.totals;
    return t("recipes.totals", { recipes, human, accepted, unsure, ...done });
  }

  fillRows() {
    if (this.closed) return;
    const unsent = countUnsent(this.layer);
    const rows = this.listing.recipes.filter((row) =>
      `${row.id} ${row.title ?? ""}`.toLowerCase().includes(this.wanted),
    );
    const nothing = element("tr", {}, element("td", { colspan: 6 }, t("recipes.none")));
    replaceContent(this.body, rows.length ? rows.map((row) => this.row(row, unsent.get(row.id) ?? 0)) : nothing);
    clearTimeout(this.timer);
    if (rows.some(isBusy)) this.timer = setTimeout(() => this.lookAgain(), LOOK_AGAIN);
  }

  /** While films are sampled. */
  async lookAgain() {
    const listing = await getJson(`${layerPath(this.layer)}/recipes`).catch(() => null);
    if (this.closed) return;
    this.listing = listing ?? this.listing;
    whenReleased(this.refill);
  }

  row(row, unsent) {
    const first = ["words", "flows", "frames"].find((step) => !row.done[step]) ?? "words";
    const title = link(
      editorAddress(row.id, first, this.layer),
      { class: "recipe-title", lang: this.app.server.language },
      row.title || row.id,
    );
    const cells = {
      words: t("recipes.words.count", row),
      flows: t("recipes.flows.count", row),
      frames: framesSentence(row),
    };
    const steps = Object.entries(cells).map(([step, text]) =>
      element(
        "td",
        {},
        link(
          editorAddress(row.id, step, this.layer),
          { class: row.done[step] ? "step-cell done" : "step-cell", data: { recipe: row.id, step } },
          element("span", { class: "step-mark", "aria-hidden": "true" }, row.done[step] ? "✓" : ""),
          text,
          row.done[step] ? element("span", { class: "visually-hidden" }, t("recipes.done")) : null,
        ),
      ),
    );
    return element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        title,
        element("div", { class: "soft small" }, row.id),
        row.notes ? element("div", { class: "flag notes-flag" }, t("recipes.notes", row)) : null,
        unsent ? element("div", { class: "flag" }, t("recipes.unsent", { count: unsent })) : null,
      ),
      steps,
      element(
        "td",
        { class: "soft" },
        row.pending + row.accepted ? t("recipes.suggested.count", row) : "–",
        row.certainty === null ? null : element("div", { class: "small" }, t("recipes.certainty", { percent: Math.round(100 * row.certainty) })),
      ),
      element(
        "td",
        {},
        this.app.server.editing
          ? recipeMenu(row, this.layer, (sentence, edit) => this.showEdit(sentence, edit))
          : null,
      ),
    );
  }

  /** After a recipe was renamed, replaced or deleted: the list anew, and a way back. */
  async showEdit(sentence, edit) {
    await this.reload();
    const undo = async () => {
      try {
        await postJson("/api/recipes/undo", { edit });
        await this.reload();
        replaceContent(this.edited);
      } catch (refusal) {
        replaceContent(this.edited, element("p", { class: "notice bad" }, describeProblem(refusal)));
      }
    };
    const button = element("button", { type: "button", data: { tool: "undo edit" }, on: { click: undo } }, t("undo"));
    replaceContent(this.edited, element("div", { class: "notice row spread" }, sentence, button));
  }

  async reload() {
    this.listing = await getJson(`${layerPath(this.layer)}/recipes`);
    this.draw();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    for (const box of this.leftovers) box.close();
  }
}

function isBusy({ film }) {
  return film.state === "waiting" || film.state === "sampling";
}

function framesSentence(row) {
  if (isBusy(row)) return t("recipes.film.busy", row.film);
  if (row.film.state === "failed" && !row.frames) return t("recipes.film.failed");
  if (!row.frames) return t("recipes.noframes");
  return t("recipes.frames.count", { set: row.objects_set, objects: row.objects });
}
