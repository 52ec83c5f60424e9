// How far two annotators agree, as in the paper's table.

import { element, replaceContent } from "/shared/dom.js";

import { Refusal, getJson } from "./api.js";
import { describeProblem } from "./describe.js";
import { t } from "./language.js";
import { agreementAddress, differencesAddress, goTo, link, recipesAddress } from "./routes.js";
import { topBar } from "./shell.js";

/** @import { App, Page, Route } from "./types.js" */

/** @type {(app: App, route: Route) => Promise<Page>} */
export async function AgreementPage(app, route) {
  document.title = t("agreement.title");
  const layers = app.server.layers.map((layer) => layer.name);
  const content = element("div", { class: "stack" });
  replaceContent(
    app.root,
    topBar(app, {
      left: [
        link(
          recipesAddress(null),
          { class: "back" },
          "←",
          element("span", { class: "visually-hidden" }, t("back.recipes")),
        ),
        element("h1", {}, t("agreement.title")),
      ],
    }),
    element(
      "main",
      { class: "page" },
      app.server.curating ? choice(layers, route) : element("p", { class: "notice" }, t("agreement.blind")),
      content,
    ),
  );
  if (app.server.curating && route.first && route.second)
    replaceContent(content, await compare(route.first, route.second));
  return { close() {} };
}

function choice(layers, route) {
  if (layers.length < 2) return element("p", { class: "notice" }, t("agreement.few"));
  const pick = (name, chosen) =>
    element(
      "label",
      { class: "stack tight", for: `layer-${name}` },
      t(`agreement.${name}`),
      element(
        "select",
        { id: `layer-${name}`, name },
        layers.map((layer) => element("option", { value: layer, selected: layer === chosen }, layer)),
      ),
    );
  const submit = (event) => {
    event.preventDefault();
    const data = new FormData(event.target);
    goTo(agreementAddress(data.get("first"), data.get("second")));
  };
  return element(
    "form",
    { class: "row end panel", on: { submit } },
    pick("first", route.first ?? layers[0]),
    pick("second", route.second ?? layers[1]),
    element("button", { class: "primary" }, t("agreement.compare")),
  );
}

async function compare(first, second) {
  try {
    const found = await getJson(
      `/api/agreement?first=${encodeURIComponent(first)}&second=${encodeURIComponent(second)}`,
    );
    const recipes = found.recipes.map((id) =>
      element("li", {}, link(differencesAddress(id, first, second), {}, id)),
    );
    return [
      element("p", { class: "soft" }, t("agreement.recipes", { count: found.recipes.length })),
      table(found.agreement, "agreement-table"),
      Object.entries(found.by_kind).map(([measure, kinds]) =>
        element("details", {}, element("summary", {}, measure), table(kinds, "")),
      ),
      element("h2", {}, t("agreement.differences")),
      element("ul", { class: "plain" }, recipes),
      element("details", {}, element("summary", {}, t("agreement.copy")), element("pre", {}, found.markdown)),
    ];
  } catch (problem) {
    if (!(problem instanceof Refusal)) throw problem;
    return [element("p", { class: "notice", role: "alert" }, describeProblem(problem))];
  }
}

function table(rows, name) {
  const percent = (value) => (value === null || value === undefined ? "–" : value.toFixed(2));
  const heads = ["measure", "precision", "recall", "f", "both", "counts"].map((head, i) =>
    element("th", { scope: "col", class: i ? "number" : "" }, t(`agreement.${head}`)),
  );
  const body = Object.entries(rows).map(([label, row]) =>
    element(
      "tr",
      { data: { measure: label } },
      element("th", { scope: "row" }, label),
      [
        percent(row.precision),
        percent(row.recall),
        percent(row.f_measure),
        row.both,
        `${row.first} / ${row.second}`,
      ].map((value) => element("td", { class: "number" }, value)),
    ),
  );
  return element(
    "table",
    { class: `panel ${name}` },
    element("thead", {}, element("tr", {}, heads)),
    element("tbody", {}, body),
  );
}
