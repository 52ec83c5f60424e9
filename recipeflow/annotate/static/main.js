// The start: one page at a time, chosen by the address.

import { element, replaceContent } from "/shared/dom.js";

import { getJson } from "./api.js";
import { describeProblem } from "./describe.js";
import { EditorPage } from "./editor.js";
import { FindPage } from "./page_find.js";
import { TimesPage } from "./page_times.js";
import { AgreementPage } from "./page_agreement.js";
import { DifferencesPage } from "./page_differences.js";
import { openGuide } from "./guide.js";
import { language, learnNames, setLanguage, t } from "./language.js";
import { NewPage } from "./page_new.js";
import { RecipesPage } from "./page_recipes.js";
import { followRoutes } from "./routes.js";

/** @import { App, Page, Route } from "./types.js" */

/** @type {Record<string, (app: App, route: Route) => Promise<Page | null>>} */
const PAGES = {
  recipes: RecipesPage,
  editor: EditorPage,
  agreement: AgreementPage,
  differences: DifferencesPage,
  guide: openGuide,
  find: FindPage,
  times: TimesPage,
  new: NewPage,
};

/**
 * What pages share: where they draw, what the server said of itself, and which annotator is at work. The server and
 * the route are known before the first page is made.
 *
 * @type {App}
 */
const app = {
  root: /** @type {HTMLElement} */ (document.getElementById("app")),
  server: /** @type {any} */ (null),
  page: null,
  turn: 0,
  restart: () => show(app.route),
  route: /** @type {any} */ (null),
};

/** @param {Route} route */
async function show(route) {
  app.route = route;
  app.turn += 1;
  const turn = app.turn;
  if (app.page?.follow?.(route)) return;
  app.page?.close();
  app.page = null;
  try {
    app.server = await getJson("/api/session");
    learnNames(app.server);
    const page = await PAGES[route.page](app, route);
    if (turn === app.turn) app.page = page;
    else page?.close();
  } catch (problem) {
    if (turn === app.turn) showProblem(problem);
  }
}

function showProblem(problem) {
  replaceContent(
    app.root,
    element(
      "main",
      { class: "page" },
      element("p", { class: "notice bad", role: "alert" }, t("problem.load", { reason: describeProblem(problem) })),
      element("button", { type: "button", on: { click: () => show(app.route) } }, t("problem.again")),
    ),
  );
}

setLanguage(language());
followRoutes(show);
