// The start: one page at a time, chosen by the address.

import { element, replaceContent } from "/shared/dom.js";

import { getJson } from "./api.js";
import { describeRefusal } from "./describe.js";
import { EditorPage } from "./editor.js";
import { AgreementPage } from "./page_agreement.js";
import { DifferencesPage } from "./page_differences.js";
import { openGuide } from "./guide.js";
import { language, learnNames, setLanguage, t } from "./language.js";
import { RecipesPage } from "./page_recipes.js";
import { followRoutes } from "./routes.js";

const PAGES = {
  recipes: RecipesPage,
  editor: EditorPage,
  agreement: AgreementPage,
  differences: DifferencesPage,
  guide: openGuide,
};

/** What pages share: where they draw, what the server said of itself, and which annotator is at work. */
const app = {
  root: document.getElementById("app"),
  server: null,
  page: null,
  turn: 0,
  restart: () => show(app.route),
  route: null,
};

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
  const reason = problem.code ? describeRefusal({ entities: [] }, problem) : problem.message;
  replaceContent(
    app.root,
    element(
      "main",
      { class: "page" },
      element("p", { class: "notice bad", role: "alert" }, t("problem.load", { reason })),
      element("button", { type: "button", on: { click: () => show(app.route) } }, t("problem.again")),
    ),
  );
}

setLanguage(language());
followRoutes(show);
