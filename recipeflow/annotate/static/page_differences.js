// What two annotators of a recipe have in common and where they differ; a curator takes what is right into the gold
// layer.

import { element, replaceContent } from "/shared/dom.js";
import { recipeText } from "/shared/words.js";

import { documentPath, getJson, postJson } from "./api.js";
import { ConflictBanner } from "./conflicts.js";
import { describeRefusal } from "./describe.js";
import { t } from "./language.js";
import { AgreementPage } from "./page_agreement.js";
import { agreementAddress, editorAddress, link } from "./routes.js";
import { Session } from "./session.js";
import { Notices, keepFocus, topBar } from "./shell.js";
import { suggestionText } from "./suggestions.js";

/** @import { AnnotatedDocument, App, Item, Page, Route } from "./types.js" */

const KINDS = ["entity", "flow", "image"];
const GOLD = "gold";

/** @type {(app: App, route: Route) => Promise<Page>} */
export async function DifferencesPage(app, route) {
  const { first, second, recipe } = route;
  if (!app.server.curating || !first || !second || !recipe) return AgreementPage(app, route);
  await postJson("/api/layers", { name: GOLD });
  const [one, other] = await Promise.all([first, second].map((layer) => getJson(documentPath(layer, recipe))));
  const gold = await Session.open(GOLD, recipe);
  const page = new Differences(app, { first, second, recipe }, { one, other, gold });
  await page.load();
  gold.start();
  return page;
}

class Differences {
  /**
   * @param {App} app
   * @param {{ recipe: string, first: string, second: string }} route
   * @param {{ one: AnnotatedDocument, other: AnnotatedDocument, gold: Session }} documents
   */
  constructor(app, route, { one, other, gold }) {
    this.app = app;
    this.route = route;
    this.one = one;
    this.other = other;
    this.gold = gold;
    this.notices = new Notices();
    this.conflict = new ConflictBanner(gold);
    this.lists = element("div", { class: "stack" });
    this.state = element("span", { class: "save-state", role: "status" });
    this.gold.onChange = () => this.onGold();
    this.gold.onRefusal = (refusal) => this.notices.show(describeRefusal(this.gold.view, refusal), "bad");
    this.drawFrame();
  }

  async load() {
    const { recipe, first, second } = this.route;
    this.found = await getJson(
      `/api/differences/${encodeURIComponent(recipe)}?first=${encodeURIComponent(first)}&second=${encodeURIComponent(second)}`,
    );
    this.draw();
  }

  /** After something was taken, ask again what gold has. */
  async onGold() {
    const { state } = this.gold.outbox;
    this.conflict.update();
    this.state.dataset.state = state;
    replaceContent(this.state, t(state === "waiting" ? "waiting" : state, { count: this.gold.outbox.queue.length }));
    if (state === "saved" && this.found && this.gold.confirmed.revision !== this.found.gold.revision)
      await this.load();
  }

  drawFrame() {
    const { recipe, first, second } = this.route;
    document.title = t("differences.title", { recipe });
    replaceContent(
      this.app.root,
      topBar(this.app, {
        left: [
          link(
            agreementAddress(first, second),
            { class: "back" },
            "←",
            element("span", { class: "visually-hidden" }, t("agreement.title")),
          ),
          element("h1", { lang: "ja" }, t("differences.title", { recipe: this.one.title ?? recipe })),
        ],
        right: [this.state, link(editorAddress(recipe, "words", GOLD), { class: "button" }, t("differences.gold"))],
      }),
      element(
        "main",
        { class: "page" },
        this.conflict.element,
        this.notices.element,
        element("h2", {}, t("differences.text")),
        element(
          "div",
          { class: "side-by-side" },
          this.text(this.one, this.other, first),
          this.text(this.other, this.one, second),
        ),
        this.lists,
      ),
    );
  }

  /** One annotator's words, with those marked that the other has not or has otherwise. */
  text(view, against, name) {
    const known = new Set(against.entities.map((entity) => `${entity.id} ${entity.end} ${entity.tag}`));
    const look = (entity) => ({ class: known.has(`${entity.id} ${entity.end} ${entity.tag}`) ? "" : "differs" });
    return element(
      "section",
      { class: "panel" },
      element("h3", {}, name),
      recipeText(view, { heading: (section) => t(`section.${section}`), entityProps: look }),
    );
  }

  draw() {
    const { first, second } = this.route;
    const columns = [
      [
        t("differences.only", { layer: first, count: this.found.only_first.length }),
        this.found.only_first,
        first,
        this.one,
      ],
      [t("differences.both", { count: this.found.both.length }), this.found.both, `${first}+${second}`, this.one],
      [
        t("differences.only", { layer: second, count: this.found.only_second.length }),
        this.found.only_second,
        second,
        this.other,
      ],
    ];
    keepFocus(this.lists, () =>
      replaceContent(
        this.lists,
        element(
          "div",
          { class: "difference-columns" },
          columns.map((column) => this.column(...column)),
        ),
      ),
    );
  }

  column(title, entries, origin, view) {
    const taken = new Set(this.found.gold.keys);
    const open = entries.filter((entry) => !taken.has(entry.key));
    const all = element(
      "button",
      {
        type: "button",
        class: "small",
        disabled: open.length === 0,
        data: { key: `all ${origin}`, takeAll: origin },
        on: { click: () => this.take(open, origin) },
      },
      t("differences.take.all"),
    );
    const groups = KINDS.map((kind) => {
      const mine = entries.filter((entry) => entry.kind === kind);
      return [
        element("h3", {}, t(`differences.${kind}`)),
        mine.length
          ? element(
              "ul",
              { class: "plain" },
              mine.map((entry) => this.row(entry, origin, view, taken)),
            )
          : element("p", { class: "soft small" }, t("differences.none")),
      ];
    });
    return element(
      "section",
      { class: "panel stack" },
      element("div", { class: "row spread" }, element("h2", {}, title), all),
      groups,
    );
  }

  row(entry, origin, view, taken) {
    const button = element(
      "button",
      {
        type: "button",
        class: "small",
        data: { key: `take ${origin} ${entry.key}` },
        on: { click: () => this.take([entry], origin) },
      },
      t("differences.take"),
    );
    return element(
      "li",
      { class: "suggestion", data: { entry: entry.key } },
      element("div", { lang: "ja" }, suggestionText(view, entry)),
      taken.has(entry.key) ? element("span", { class: "good small" }, `✓ ${t("differences.taken")}`) : button,
    );
  }

  /** Words go first, then flows, then frames: each needs what comes before it. */
  take(entries, origin) {
    const items = KINDS.flatMap((kind) => entries.filter((entry) => entry.kind === kind)).map(
      ({ key, kind, item }) => ({ key, kind, item }),
    );
    this.gold.do({ op: "accept", origin, items, replace: true });
  }

  close() {
    this.gold.close();
  }
}
