// The guided first recipe: a short list of things to do, ticked off as the document shows that they were done.

import { element, replaceContent } from "/shared/dom.js";

import { getJson, layerPath } from "./api.js";
import { t } from "./language.js";
import { chosenLayer } from "./page_recipes.js";
import { editorAddress, goTo, recipesAddress } from "./routes.js";

/** @import { Session } from "./session.js" */
/** @import { AnnotatedDocument, App, Route } from "./types.js" */

/** @type {Record<string, [name: string, isDone: (view: AnnotatedDocument) => boolean][]>} */
const TASKS = {
  words: [
    ["drag", (view) => view.entities.some((entity) => entity.tag === "F")],
    ["action", (view) => view.entities.some((entity) => entity.tag === "Ac")],
    ["more", (view) => view.entities.length >= 10],
    ["done", (view) => view.done.words],
  ],
  flows: [
    ["first", (view) => view.flows.some((flow) => flow.label === "Targ")],
    ["dest", (view) => view.flows.some((flow) => flow.label === "Dest")],
    ["open", (view) => view.flows.length > 0 && view.unconnected.length === 0],
    ["done", (view) => view.done.flows],
  ],
  frames: [
    ["before", (view) => view.objects.some((pair) => pair.before !== null)],
    ["after", (view) => view.objects.some((pair) => pair.after !== null)],
    ["hidden", (view) => view.objects.some((pair) => pair.before === "none" || pair.after === "none")],
    [
      "done",
      (view) =>
        view.objects.length > 0 && view.objects.every((pair) => pair.before !== null && pair.after !== null),
    ],
  ],
};

/**
 * Go to the recipe that is best to begin with: the first that has frames and is not finished.
 *
 * @type {(app: App, route: Route) => Promise<null>}
 */
export async function openGuide(app, route) {
  const layer = chosenLayer(app, route);
  if (!layer) {
    goTo(recipesAddress(null), { replace: true });
    return null;
  }
  const { recipes } = await getJson(`${layerPath(layer)}/recipes`);
  const open = recipes.filter((recipe) => !recipe.done.frames);
  const chosen = open.find((recipe) => recipe.frames && recipe.has_text) ?? open[0] ?? recipes[0];
  const step = ["words", "flows", "frames"].find((name) => !chosen.done[name]) ?? "words";
  goTo(editorAddress(chosen.id, step, layer, true), { replace: true });
  return null;
}

export class Guide {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    this.element = element("section", { class: "guide panel" });
  }

  update(view, step) {
    const tasks = TASKS[step].map(([name, isDone]) => ({ name, done: isDone(view) }));
    const next = tasks.findIndex((task) => !task.done);
    const items = tasks.map(({ name, done }, i) =>
      element(
        "li",
        { class: done ? "done" : i === next ? "next" : "" },
        element("span", { "aria-hidden": "true" }, done ? "✓" : "○"),
        t(`guide.${step}.${name}`),
      ),
    );
    replaceContent(
      this.element,
      element("h2", {}, t("guide.title")),
      element("ol", {}, items),
      element(
        "button",
        { type: "button", class: "quiet small", on: { click: () => this.hide(step) } },
        t("guide.hide"),
      ),
    );
  }

  hide(step) {
    this.element.remove();
    goTo(editorAddress(this.session.recipe, step, this.session.layer), { replace: true });
  }
}
