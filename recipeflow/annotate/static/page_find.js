// Search over all annotations of a layer, with a link to each place, and one repair for all that were chosen.

import { element, replaceContent } from "/shared/dom.js";

import { getJson, layerPath } from "./api.js";
import { describeProblem } from "./describe.js";
import { chooseHits, listHits } from "./find_hits.js";
import { hitRow } from "./find_rows.js";
import { labelName, t, tagName } from "./language.js";
import { chosenLayer, RecipesPage } from "./page_recipes.js";
import { planRepairs, sendRepairs, undoOf } from "./repairing.js";
import { editorAddress, findAddress, goTo, link, recipesAddress } from "./routes.js";
import { backLink, keepFocus, layerChoice, topBar } from "./shell.js";

/** @import { App, Page, Route } from "./types.js" */
/** @import { Filters, Hit } from "./find_hits.js" */
/** @import { Outcome, Repair } from "./repairing.js" */

const SHOWN = 200;
const KINDS = ["words", "flows", "frames"];

/** @type {(app: App, route: Route) => Promise<Page>} */
export async function FindPage(app, route) {
  const layer = chosenLayer(app, route);
  if (!layer) return RecipesPage(app, route);
  const page = new Find(app, layer);
  await page.load();
  page.draw();
  return page;
}

class Find {
  /** @type {Hit[]} */
  all = [];
  /** @type {Hit[]} */
  hits = [];
  /** @type {Set<string>} */
  chosen = new Set();
  /** @type {Outcome[]} */
  repaired = [];
  to = "";
  busy = false;

  /**
   * @param {App} app
   * @param {string} layer
   */
  constructor(app, layer) {
    this.app = app;
    this.layer = layer;
    const query = new URLSearchParams(window.location.search);
    /** @type {Filters} */
    this.filters = {
      step: KINDS.find((kind) => kind === query.get("in")) ?? "words",
      text: query.get("text") ?? "",
      exact: query.has("exact"),
      tag: query.get("tag") ?? "",
      label: query.get("label") ?? "",
      unsure: query.has("unsure"),
    };
    this.everyone = query.has("everyone");
    this.limit = SHOWN;
    this.form = element("form", { class: "panel find-form row end", role: "search" });
    this.repair = element("div", { class: "panel row spread find-repair" });
    this.result = element("div", { role: "status" });
    this.list = element("ol", { class: "find-hits panel" });
    this.form.addEventListener("submit", (event) => event.preventDefault());
  }

  async load() {
    const layers = this.everyone ? this.app.server.layers.map(({ name }) => name) : [this.layer];
    this.all = listHits(await Promise.all(layers.map((name) => getJson(`${layerPath(name)}/annotations`))));
  }

  draw() {
    document.title = `${t("find.title")} · ${this.layer}`;
    replaceContent(
      this.app.root,
      topBar(this.app, {
        left: [backLink(link(recipesAddress(this.layer), { class: "back" })), element("h1", {}, t("find.title"))],
        right: [layerChoice(this.app, this.layer, (name) => goTo(findAddress(name, this.query())))],
      }),
      element("main", { class: "page" }, this.form, this.result, this.repair, this.list),
    );
    this.drawForm();
    this.search();
  }

  drawForm() {
    const { filters } = this;
    const lang = this.app.server.language;
    const text = element("input", { type: "search", id: "find-text", value: filters.text, lang });
    text.addEventListener("input", () => this.change({ text: text.value }));
    const kinds = KINDS.map((kind) => [kind, t(`step.${kind}`)]);
    const tags = Object.keys(this.app.server.tags).map((tag) => [tag, `${tag} ${tagName(tag)}`]);
    const labels = Object.keys(this.app.server.labels).map((label) => [label, `${label} ${labelName(label)}`]);
    const any = ["", t("find.any")];
    const step = select("find-step", kinds, filters.step, (chosen) => this.change({ step: chosen }, true));
    const tag = select("find-tag", [any, ...tags], filters.tag, (chosen) => this.change({ tag: chosen }));
    const label = select("find-label", [any, ...labels], filters.label, (chosen) => this.change({ label: chosen }));
    keepFocus(this.form, () =>
      replaceContent(
        this.form,
        field("find-step", t("find.in"), step),
        field("find-text", t("find.text"), text),
        field("find-tag", t("find.tag"), tag),
        filters.step === "flows" ? field("find-label", t("find.label"), label) : null,
        check("find-exact", t("find.exact"), filters.exact, (exact) => this.change({ exact })),
        check("find-unsure", t("find.unsure"), filters.unsure, (unsure) => this.change({ unsure })),
        this.app.server.layers.length > 1
          ? check("find-everyone", t("find.everyone"), this.everyone, (everyone) => this.include(everyone))
          : null,
      ),
    );
  }

  async include(everyone) {
    this.everyone = everyone;
    await this.reload();
  }

  async reload() {
    try {
      await this.load();
      this.search();
    } catch (problem) {
      replaceContent(this.result, element("p", { class: "notice bad" }, describeProblem(problem)));
    }
  }

  change(filters, again = false) {
    Object.assign(this.filters, filters);
    if (this.filters.step !== "flows") this.filters.label = "";
    this.limit = SHOWN;
    if (again) this.drawForm();
    this.search();
  }

  /** The filters as a part of the address, so that a search can be kept and sent. */
  query() {
    const { step, text, exact, tag, label, unsure } = this.filters;
    const flags = { exact, unsure, everyone: this.everyone };
    const on = Object.entries(flags).filter(([, value]) => value);
    const given = Object.entries({ text, tag, label }).filter(([, value]) => value);
    return { in: step, ...Object.fromEntries(given), ...Object.fromEntries(on.map(([name]) => [name, "1"])) };
  }

  search() {
    this.hits = chooseHits(this.all, this.filters);
    this.chosen = new Set();
    window.history.replaceState(null, "", findAddress(this.layer, this.query()));
    this.drawHits();
  }

  drawHits() {
    const common = { lang: this.app.server.language, canChoose: this.canRepair, showLayer: this.everyone };
    const rows = this.hits.slice(0, this.limit).map((hit) => {
      const chosen = this.chosen.has(hit.key);
      return hitRow(hit, { ...common, chosen, onChoose: (on) => this.choose([hit], on) });
    });
    const left = this.hits.length - rows.length;
    const next = t("find.more", { count: Math.min(left, SHOWN) });
    const more = () => {
      this.limit += SHOWN;
      this.drawHits();
    };
    const button = element("button", { type: "button", on: { click: more } }, next);
    replaceContent(
      this.list,
      rows.length ? rows : element("li", { class: "soft" }, t("find.none")),
      left > 0 ? element("li", {}, button) : null,
    );
    this.drawRepair();
  }

  /** Frames are chosen where the film is. */
  get canRepair() {
    return this.filters.step !== "frames";
  }

  choose(hits, on) {
    for (const hit of hits) {
      if (on) this.chosen.add(hit.key);
      else this.chosen.delete(hit.key);
    }
    this.drawRepair();
  }

  drawRepair() {
    const recipes = new Set(this.hits.map((hit) => hit.recipe.id)).size;
    const found = element("strong", { class: "find-count" }, t("find.found", { count: this.hits.length, recipes }));
    if (!this.canRepair) return replaceContent(this.repair, found);
    const chosen = this.hits.filter((hit) => this.chosen.has(hit.key));
    const all = this.hits.length > 0 && chosen.length === this.hits.length;
    const every = check("find-all", t("find.all", { count: this.hits.length }), all, (on) => {
      this.choose(this.hits, on);
      this.drawHits();
    });
    const isWords = this.filters.step === "words";
    const names = Object.keys(isWords ? this.app.server.tags : this.app.server.labels);
    const nameOf = isWords ? tagName : labelName;
    const options = names.map((name) => [name, `${name} ${nameOf(name)}`]);
    const wanted = names.includes(this.to) ? this.to : names[0];
    const to = select("find-to", options, wanted, (name) => {
      this.to = name;
      this.drawRepair();
    });
    const repairs = planRepairs(chosen, to.value);
    const go = element(
      "button",
      {
        type: "button",
        class: "primary",
        disabled: !repairs.length || this.busy,
        data: { tool: "repair" },
        on: { click: () => this.apply(repairs) },
      },
      repairs.length ? t("find.change", { count: changed(repairs), recipes: repairs.length }) : t("find.change.none"),
    );
    return keepFocus(this.repair, () =>
      replaceContent(
        this.repair,
        element("div", { class: "row" }, found, every),
        element(
          "div",
          { class: "row tight" },
          element("label", { for: "find-to" }, t(isWords ? "find.to.tag" : "find.to.label")),
          to,
          go,
        ),
      ),
    );
  }

  /**
   * Carry out repairs, or what takes them back, and say what came of it.
   *
   * @param {Repair[]} repairs
   * @param {boolean} [back]
   */
  async apply(repairs, back = false) {
    this.busy = true;
    this.drawRepair();
    const progress = (done) => {
      const said = t("find.saving", { done, count: repairs.length });
      replaceContent(this.result, element("p", { class: "notice" }, said));
    };
    progress(0);
    const outcomes = await sendRepairs(repairs, progress);
    this.busy = false;
    this.repaired = back ? [] : outcomes;
    await this.reload();
    this.drawResult(outcomes, back);
  }

  drawResult(outcomes, back) {
    const saved = outcomes.filter((outcome) => outcome.saved);
    const undo = element(
      "button",
      { type: "button", data: { tool: "undo repair" }, on: { click: () => this.apply(undoOf(this.repaired), true) } },
      t("undo"),
    );
    const said = t(back ? "find.undone" : "find.changed", { count: changed(saved), recipes: saved.length });
    const failed = outcomes.flatMap((outcome) => (outcome.saved ? [] : [failedRow(outcome)]));
    replaceContent(
      this.result,
      element("div", { class: "notice row spread" }, said, saved.length && !back ? undo : null),
      failed.length ? element("ul", { class: "notice bad plain" }, failed) : null,
    );
  }

  close() {}
}

/** @param {Outcome} outcome */
function failedRow({ layer, recipe, reason }) {
  const why = reason === "conflict" ? t("find.conflict") : describeProblem(reason);
  return element("li", {}, link(editorAddress(recipe, "words", layer), {}, recipe), `: ${why}`);
}

/** How many decisions repairs change. */
function changed(repairs) {
  return repairs.reduce((sum, { operation }) => sum + (operation.entities ?? operation.flows ?? []).length, 0);
}

function field(id, name, control) {
  return element("div", { class: "stack tight" }, element("label", { for: id }, name), control);
}

function select(id, options, value, onChange) {
  const made = element(
    "select",
    { id, data: { key: id } },
    options.map(([name, text]) => element("option", { value: name, selected: name === value }, text)),
  );
  made.addEventListener("change", () => onChange(made.value));
  return made;
}

function check(id, text, on, onChange) {
  const box = element("input", { type: "checkbox", id, data: { key: id } });
  box.checked = on;
  box.addEventListener("change", () => onChange(box.checked));
  return element("label", { class: "row tight", for: id }, box, text);
}
