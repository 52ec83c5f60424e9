// What two annotators of a recipe have in common and where they differ; a curator takes what is right into the gold
// layer.

import { element, replaceContent } from "/shared/dom.js";
import { recipeText } from "/shared/words.js";

import { documentPath, getJson, postJson } from "./api.js";
import { ConflictBanner } from "./conflicts.js";
import { describeRefusal, sideText, targetText } from "./describe.js";
import { showThumbnail } from "./filmstrip.js";
import { t } from "./language.js";
import { notesBy } from "./note_tools.js";
import { whenReleased } from "./pressing.js";
import { AgreementPage } from "./page_agreement.js";
import { agreementAddress, editorAddress, link } from "./routes.js";
import { Session } from "./session.js";
import { Notices, keepFocus, topBar } from "./shell.js";
import { suggestionText } from "./suggestions.js";
import { takeOperation } from "./taking.js";

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
    this.redraw = () => this.draw();
    this.state = element("span", { class: "save-state", role: "status" });
    this.gold.onChange = () => this.onGold();
    this.gold.onRefusal = (refusal) => this.showRefusal(refusal);
    this.gold.onEffects = (effects) => this.showSkipped(effects.skipped ?? []);
    this.drawFrame();
  }

  async load() {
    const { recipe, first, second } = this.route;
    this.found = await getJson(
      `/api/differences/${encodeURIComponent(recipe)}?first=${encodeURIComponent(first)}&second=${encodeURIComponent(second)}`,
    );
    whenReleased(this.redraw);
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

  showRefusal(refusal) {
    if (refusal.detail.skipped?.length) this.showSkipped(refusal.detail.skipped);
    else this.notices.show(describeRefusal(this.gold.view, refusal), "bad");
  }

  /** Say what was left out of gold, and why; what is there already is no loss. */
  showSkipped(skipped) {
    const lost = skipped.filter(({ code }) => code !== "unchanged");
    if (!lost.length) return;
    const known = [...this.found.both, ...this.found.only_first, ...this.found.only_second];
    const rows = lost.map(({ key, code, detail, reason }) => {
      const entry = known.find((each) => each.key === key);
      const view = this.found.only_second.includes(entry) ? this.other : this.one;
      const why = describeRefusal(this.gold.view, { code, detail, message: reason });
      return `${entry ? suggestionText(view, entry) : key}: ${why}`;
    });
    this.notices.show(`${t("differences.skipped", { count: lost.length })} ${rows.join(" ")}`, "bad");
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
          element("h1", { lang: this.one.language }, t("differences.title", { recipe: this.one.title || recipe })),
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
    const { both, only_first, only_second, gold, notes } = this.found;
    const [inFirst, inSecond] = [new Set(gold.first), new Set(gold.second)];
    const title = (layer, entries) => t("differences.only", { layer, count: entries.length });
    const columns = [
      [title(first, only_first), only_first, first, this.one, inFirst, notes.only_first],
      [t("differences.both", { count: both.length }), both, `${first}+${second}`, this.one, inFirst, notes.both],
      [title(second, only_second), only_second, second, this.other, inSecond, notes.only_second],
    ];
    keepFocus(this.lists, () =>
      replaceContent(
        this.lists,
        element(
          "div",
          { class: "difference-columns" },
          columns.map((column) => this.column(...column)),
        ),
        this.otherNotes(notes.others),
      ),
    );
  }

  /** Notes on what neither list has, such as an image that nobody chose. */
  otherNotes(notes) {
    if (!notes.length) return null;
    const rows = notes.map((note) => {
      const view = note.by === "first" ? this.one : this.other;
      const about = element("span", { lang: view.language }, targetText(view, note.target));
      return element("li", {}, about, notesBy([note], this.route));
    });
    return element(
      "section",
      { class: "panel stack other-notes" },
      element("h2", {}, t("differences.notes")),
      element("ul", { class: "plain" }, rows),
    );
  }

  column(title, entries, origin, view, taken, notes) {
    const open = entries.filter((entry) => !taken.has(entry.key));
    const all = element(
      "button",
      {
        type: "button",
        class: "small",
        disabled: open.length === 0,
        data: { key: `all ${origin}`, takeAll: origin },
        on: { click: () => this.take(open, origin, view) },
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
              mine.map((entry) => this.row(entry, origin, view, taken, notes)),
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

  row(entry, origin, view, taken, notes) {
    const button = element(
      "button",
      {
        type: "button",
        class: "small",
        data: { key: `take ${origin} ${entry.key}` },
        on: { click: () => this.take([entry], origin, view) },
      },
      t("differences.take"),
    );
    return element(
      "li",
      { class: "suggestion", data: { entry: entry.key } },
      element(
        "div",
        { lang: view.language },
        suggestionText(view, entry),
        entry.kind === "image" ? pictures(view, entry) : null,
        notesBy(notes[entry.key] ?? [], this.route),
      ),
      taken.has(entry.key) ? element("span", { class: "good small" }, `✓ ${t("differences.taken")}`) : button,
    );
  }

  take(entries, origin, view) {
    this.gold.do(takeOperation(entries, view, this.gold.view, origin));
  }

  close() {
    this.gold.close();
  }
}

/** The frames of an entry, before and after. */
function pictures({ frames }, { item }) {
  if (!frames) return null;
  const boxes = ["before", "after"].map((side) => {
    const value = item[side];
    const label = `${t(`frames.${side}`)}: ${sideText(value)}`;
    const box = element("span", { class: "side-picture", role: "img", "aria-label": label, title: label });
    if (typeof value === "number") return showThumbnail(box, frames, value, 128, 72);
    box.textContent = value === "none" ? "∅" : "–";
    return box;
  });
  return element("div", { class: "row tight difference-pictures" }, boxes);
}
