// How long each step of each recipe took, read off the log.

import { element, replaceContent } from "/shared/dom.js";

import { getJson, layerPath } from "./api.js";
import { t } from "./language.js";
import { chosenLayer, RecipesPage } from "./page_recipes.js";
import { STEPS, editorAddress, goTo, link, recipesAddress, timesAddress } from "./routes.js";
import { backLink, layerChoice, topBar } from "./shell.js";

/** @import { App, Page, Route } from "./types.js" */

/** @type {(app: App, route: Route) => Promise<Page>} */
export async function TimesPage(app, route) {
  const layer = chosenLayer(app, route);
  if (!layer) return RecipesPage(app, route);
  document.title = `${t("times.title")} · ${layer}`;
  const found = await getJson(`${layerPath(layer)}/times`);
  replaceContent(
    app.root,
    topBar(app, {
      left: [backLink(link(recipesAddress(layer), { class: "back" })), element("h1", {}, t("times.title"))],
      right: [layerChoice(app, layer, (name) => goTo(timesAddress(name)))],
    }),
    element(
      "main",
      { class: "page" },
      element("p", { class: "soft" }, t("times.why", { minutes: found.pause / 60 })),
      found.count ? table(found, layer, app.server.language) : element("p", { class: "notice" }, t("times.none")),
    ),
  );
  return { close() {} };
}

function table({ recipes, total, count }, layer, lang) {
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, t("recipes.recipe")),
    STEPS.map((step) => element("th", { scope: "col", class: "number" }, t(`step.${step}`))),
    element("th", { scope: "col", class: "number" }, t("times.all")),
  );
  const mean = Object.fromEntries(
    STEPS.map((step) => [
      step,
      { seconds: total[step].seconds / count, operations: total[step].operations / count },
    ]),
  );
  const rows = recipes.map(({ id, title, steps }) =>
    row(link(editorAddress(id, "words", layer), { class: "recipe-title", lang }, title || id), steps, { recipe: id }),
  );
  return element(
    "table",
    { class: "panel times-table" },
    element("thead", {}, head),
    element("tbody", {}, rows),
    element(
      "tfoot",
      {},
      row(t("times.mean"), mean, { recipe: "mean" }),
      row(t("times.sum", { count }), total, { recipe: "sum" }),
    ),
  );
}

function row(name, steps, data) {
  const all = STEPS.map((step) => steps[step]);
  const seconds = all.reduce((sum, each) => sum + each.seconds, 0);
  const operations = all.reduce((sum, each) => sum + each.operations, 0);
  return element(
    "tr",
    { data },
    element("th", { scope: "row" }, name),
    [...all, { seconds, operations }].map(cell),
  );
}

function cell({ seconds, operations }) {
  const count = Number.isInteger(operations) ? operations : operations.toFixed(1);
  return element(
    "td",
    { class: "number" },
    t("times.minutes", { minutes: (seconds / 60).toFixed(1) }),
    element("div", { class: "soft small" }, t("times.operations", { count })),
  );
}
