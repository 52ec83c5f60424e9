// The editor of one recipe: the bar with steps, undo and the state of saving; the step at work; suggestions;
// conflicts.

import { element, findAll, replaceContent } from "/shared/dom.js";

import { getJson, layerPath } from "./api.js";
import { ConflictBanner } from "./conflicts.js";
import { describeOperation, describeProblem, describeRefusal } from "./describe.js";
import { FilmPanel } from "./film_panel.js";
import { Guide } from "./guide.js";
import { Guidelines } from "./guidelines.js";
import { openHelp } from "./help.js";
import { t } from "./language.js";
import { chosenOrder, nextRecipe } from "./next_recipe.js";
import { whenReleased } from "./pressing.js";
import { RecipesPage, chosenLayer } from "./page_recipes.js";
import { STEPS, editorAddress, goTo, link, recipesAddress } from "./routes.js";
import { Session } from "./session.js";
import { Notices, isTyping, topBar } from "./shell.js";
import { FlowsStep } from "./step_flows.js";
import { FramesStep } from "./step_frames.js";
import { WordsStep } from "./step_words.js";
import { SuggestionsPanel, markLine } from "./suggestions.js";

/** @import { App, Page, Route } from "./types.js" */

const STEP_CLASSES = { words: WordsStep, flows: FlowsStep, frames: FramesStep };

/** @type {(app: App, route: Route) => Promise<Page>} */
export async function EditorPage(app, route) {
  const layer = route.layer ?? chosenLayer(app, route);
  if (!layer || !route.recipe) return RecipesPage(app, route);
  const session = await Session.open(layer, route.recipe);
  const page = new Editor(app, session, route);
  session.start();
  return page;
}

export class Editor {
  /** @type {WordsStep | FlowsStep | FramesStep} */
  step;
  /** @type {SuggestionsPanel} */
  suggestions;
  /** @type {HTMLElement} */
  tabs;
  /** @type {HTMLButtonElement} */
  markDone;
  /** @type {HTMLButtonElement} */
  nextRecipe;

  /**
   * @param {App} app
   * @param {Session} session
   * @param {Route} route
   */
  constructor(app, session, route) {
    this.app = app;
    this.session = session;
    this.notices = new Notices();
    this.status = element("div", { class: "save-state", role: "status", "aria-live": "polite" });
    this.place = element("div", { class: "step-place" });
    this.conflict = new ConflictBanner(session);
    session.onChange = () => this.schedule();
    session.onRefusal = (refusal, operation) => this.showRefusal(refusal, operation);
    session.onEffects = (effects) => this.showEffects(effects);
    this.redraw = () => !this.closed && this.draw();
    this.guidelines = new Guidelines(() => this.makeRoom());
    this.film = this.view.frames
      ? null
      : new FilmPanel(session.recipe, app.server.editing, (frames) => this.takeFrames(frames));
    this.keys = (event) => this.onKey(event);
    document.addEventListener("keydown", this.keys);
    this.drawFrame(route);
    this.openStep(route);
  }

  get view() {
    return this.session.view;
  }

  /** Another step of the same recipe needs no new page. */
  follow(route) {
    const same = route.page === "editor" && route.recipe === this.session.recipe && route.layer === this.session.layer;
    if (same && !route.guided) this.guide = null;
    if (same) this.openStep(route);
    return same;
  }

  drawFrame(route) {
    const view = this.view;
    const icon = (key, sign, act) =>
      element(
        "button",
        { type: "button", class: "icon", title: t(key), "aria-label": t(key), on: { click: act } },
        sign,
      );
    this.undo = icon("undo", "↶", () => this.session.undo());
    this.redo = icon("redo", "↷", () => this.session.redo());
    this.tabs = element("nav", { class: "steps", "aria-label": t("site.task") });
    this.markDone = element("button", { type: "button", class: "primary", on: { click: () => this.finishStep() } });
    this.nextRecipe = element(
      "button",
      { type: "button", class: "primary", data: { tool: "next recipe" }, on: { click: () => this.openNext() } },
      t("step.nextrecipe"),
    );
    replaceContent(
      this.app.root,
      topBar(this.app, {
        left: [
          link(
            recipesAddress(this.session.layer),
            { class: "back" },
            "←",
            element("span", { class: "visually-hidden" }, t("back.recipes")),
          ),
          element("h1", { class: "recipe-name", lang: view.language, title: view.title || view.id }, view.title || view.id),
        ],
        middle: [this.tabs, this.markDone, this.nextRecipe],
        right: [
          this.status,
          this.guidelines.button,
          this.undo,
          this.redo,
          icon("help", "?", () => openHelp(this.app.server, this.stepName)),
          element("span", { class: "who" }, this.session.layer),
        ],
      }),
      element(
        "main",
        { class: "editor" },
        this.conflict.element,
        hasText(view) ? null : element("p", { class: "notice textless-notice" }, t("textless")),
        this.notices.element,
        this.film?.element ?? null,
        this.place,
      ),
    );
    this.guide = route.guided ? new Guide(this.session) : null;
  }

  openStep(route) {
    this.step?.close();
    this.stepName = route.step;
    this.suggestions = new SuggestionsPanel(this.session, route.step);
    this.step = new STEP_CLASSES[route.step](this);
    const side = element(
      "aside",
      { class: "side" },
      this.guide?.element ?? null,
      this.step.side,
      this.suggestions.element,
    );
    replaceContent(this.place, this.step.main, side, this.guidelines.element);
    this.makeRoom();
    document.title = `${this.view.title ?? this.view.id} · ${t(`step.${route.step}`)}`;
    this.draw();
    this.film?.offer(route.step === "frames");
    if (this.step instanceof FlowsStep) this.step.opened();
    if (route.at) this.step.goTo(route.at);
  }

  /** The frames of a film that was uploaded or sampled while this page was open. */
  takeFrames(frames) {
    this.film?.close();
    this.film?.element.remove();
    this.film = null;
    this.session.takeFrames(frames);
    this.notices.show(t("film.ready"));
    if (this.stepName === "frames") this.openStep({ ...this.app.route, step: "frames" });
  }

  /** The place of the step, with a column for the guidelines while they are open. */
  makeRoom() {
    this.place.className = `step-place step-${this.stepName} ${this.guidelines.isOpen ? "with-guidelines" : ""}`;
  }

  /** Several changes within one frame are drawn once, and never under a pressed button. */
  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    queueMicrotask(() => {
      this.scheduled = false;
      if (this.closed) return;
      this.drawStatus();
      whenReleased(this.redraw);
    });
  }

  draw() {
    this.drawStatus();
    this.conflict.update();
    if (this.drawnView === this.view && this.drawnStep === this.step) return;
    this.drawnView = this.view;
    this.drawnStep = this.step;
    this.drawTabs();
    this.step.update(this.view);
    this.suggestions.update(this.view);
    markLine(this.place, this.suggestions.lineAtHand);
    this.guide?.update(this.view, this.stepName);
    this.aimHistory(this.undo, "undo", this.session.canUndo);
    this.aimHistory(this.redo, "redo", this.session.canRedo);
  }

  aimHistory(button, name, possible) {
    const operation = this.view[name];
    const title = operation ? t(`${name}.what`, { what: describeOperation(this.view, operation) }) : t(name);
    button.disabled = !possible;
    button.title = title;
  }

  drawStatus() {
    const { state, queue, kept } = this.session.outbox;
    const count = queue.length;
    const sentences = {
      saved: t("saved"),
      saving: count > 1 ? t("saving.count", { count }) : t("saving"),
      waiting: t(kept ? "waiting" : "waiting.unkept", { count }),
      conflict: t("conflict"),
    };
    if (this.shownStatus === sentences[state]) return;
    this.shownStatus = sentences[state];
    const retry = element(
      "button",
      { type: "button", class: "small", on: { click: () => this.session.outbox.retryNow() } },
      t("waiting.now"),
    );
    this.status.dataset.state = state;
    replaceContent(this.status, element("span", {}, sentences[state]), state === "waiting" ? retry : null);
  }

  drawTabs() {
    const { layer, recipe } = this.session;
    const tabs = STEPS.map((step, i) =>
      link(
        editorAddress(recipe, step, layer, this.guide !== null),
        {
          class: this.view.done[step] ? "step-tab done" : "step-tab",
          "aria-current": step === this.stepName ? "step" : null,
          data: { step },
        },
        element("span", { class: "step-mark", "aria-hidden": "true" }, this.view.done[step] ? "✓" : i + 1),
        t(`step.${step}`),
      ),
    );
    replaceContent(this.tabs, tabs);
    const finished = this.view.done[this.stepName];
    const last = this.stepName === STEPS.at(-1);
    replaceContent(this.markDone, finished ? t("step.unmark") : t(last ? "step.mark" : "step.next"));
    this.markDone.classList.toggle("primary", !finished);
    this.nextRecipe.hidden = !(last && finished);
  }

  /** The next recipe with something left to do, in the chosen order. */
  async openNext() {
    const { layer, recipe } = this.session;
    try {
      const { recipes } = await getJson(`${layerPath(layer)}/recipes`);
      const next = nextRecipe(recipes, recipe, chosenOrder());
      if (next) goTo(editorAddress(next.id, STEPS.find((step) => !next.done[step]), layer));
      else this.notices.show(t("step.nextrecipe.none"));
    } catch (problem) {
      this.notices.show(describeProblem(problem), "bad");
    }
  }

  /** Accept the suggestions of the line at hand, and bring the next one into view. */
  acceptLine() {
    if (!this.suggestions.acceptLine()) return false;
    const { section, line } = this.suggestions.lineAtHand ?? {};
    const [next] = findAll(this.place, `.text-line[data-section="${section}"][data-line="${line}"]`);
    next?.scrollIntoView({ block: "nearest" });
    return true;
  }

  finishStep() {
    const done = !this.view.done[this.stepName];
    this.session.do({ op: "done", step: this.stepName, done });
    if (done) this.turnTo(1);
  }

  turnTo(direction) {
    const next = STEPS[STEPS.indexOf(this.stepName) + direction];
    if (next) goTo(editorAddress(this.session.recipe, next, this.session.layer, this.guide !== null));
  }

  showRefusal(refusal, operation) {
    const what = describeOperation(this.view, operation);
    this.notices.show(`${t("refused.title", { what })} ${describeRefusal(this.view, refusal)}`, "bad");
  }

  showEffects({ removed_flows: flows = [], removed_objects: objects = [], skipped = [] }) {
    if (flows.length + objects.length)
      this.notices.show(t("effects.removed", { flows: flows.length, objects: objects.length }));
    if (skipped.length) {
      const reason = describeRefusal(this.view, {
        code: skipped[0].code,
        detail: skipped[0].detail ?? {},
        message: skipped[0].reason,
      });
      this.notices.show(t("effects.skipped", { count: skipped.length, reason }));
    }
  }

  onKey(event) {
    if (isTyping(event)) return;
    const command = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    const handled =
      (command && key === "z" && (event.shiftKey ? this.session.redo() : this.session.undo(), true)) ||
      (command && key === "y" && (this.session.redo(), true)) ||
      (!command && event.key === "?" && (openHelp(this.app.server, this.stepName), true)) ||
      (!command && key === "g" && (this.guidelines.toggle(), true)) ||
      (!command && key === "y" && this.acceptLine()) ||
      (!command && event.key === "[" && (this.turnTo(-1), true)) ||
      (!command && event.key === "]" && (this.turnTo(1), true)) ||
      (!command && !event.altKey && this.step.onKey(event));
    if (handled) event.preventDefault();
  }

  close() {
    this.closed = true;
    document.removeEventListener("keydown", this.keys);
    this.film?.close();
    this.step.close();
    this.session.close();
  }
}

/** Whether a recipe has text; the official annotations alone have only the lengths of words. */
function hasText(view) {
  return view.sections.some(({ lines }) => lines.some((line) => line.text !== null));
}
