// Above the list of recipes: the next recipe and how it is chosen, and a parser trained on what is finished.

import { element, replaceContent } from "/shared/dom.js";

import { getJson, layerPath, postJson } from "./api.js";
import { describeProblem } from "./describe.js";
import { t } from "./language.js";
import { ORDERS, chooseOrder, chosenOrder, nextRecipe } from "./next_recipe.js";
import { STEPS, editorAddress, goTo } from "./routes.js";

const LOOK_EVERY = 2000;

/** @type {(layer: string, recipes: Record<string, any>[]) => HTMLElement} */
export function workPlan(layer, recipes) {
  const select = element(
    "select",
    { id: "order", data: { tool: "order" } },
    ORDERS.map((order) => element("option", { value: order, selected: order === chosenOrder() }, t(`order.${order}`))),
  );
  select.addEventListener("change", () => chooseOrder(select.value));
  const open = () => {
    const next = nextRecipe(recipes, null, select.value);
    if (next) goTo(editorAddress(next.id, STEPS.find((step) => !next.done[step]), layer));
  };
  const button = element(
    "button",
    { type: "button", class: "primary", data: { tool: "next recipe" }, on: { click: open } },
    t("step.nextrecipe"),
  );
  button.disabled = nextRecipe(recipes, null, "listed") === null;
  const choice = element("label", { class: "row tight", for: "order" }, t("order.title"), select);
  return element("div", { class: "row work-plan" }, button, choice, parserTraining(layer));
}

/** Train a parser on the finished recipes: only where the server computes suggestions. */
function parserTraining(layer) {
  const place = element("span", { class: "row tight parser-training", role: "status" });
  const path = `${layerPath(layer)}/parser`;
  const look = async () => {
    const { training } = await getJson(path).catch(() => ({ training: null }));
    draw(training);
    if (training?.state === "training" && place.isConnected) setTimeout(look, LOOK_EVERY);
  };
  const train = async () => {
    try {
      draw((await postJson(path, {})).training);
      setTimeout(look, LOOK_EVERY);
    } catch (refusal) {
      replaceContent(place, element("span", { class: "problem" }, describeProblem(refusal)));
    }
  };
  const draw = (training) => {
    if (!training || (training.finished < training.fewest && training.state === "idle")) return replaceContent(place);
    const button = element(
      "button",
      { type: "button", data: { tool: "train parser" }, on: { click: train } },
      t("parser.train", { count: training.finished }),
    );
    button.disabled = training.state === "training";
    const said = training.state === "idle" ? "" : t(`parser.${training.state}`, training);
    return replaceContent(place, button, element("span", { class: "soft small" }, said));
  };
  look();
  return place;
}
