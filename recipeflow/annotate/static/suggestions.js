// What a model or another release suggests for the step at work: shown apart from human work, with its origin, to
// accept or reject.

import { element, findAll, replaceContent } from "/shared/dom.js";

import { describeRefusal, entityText, sideText, wordsText } from "./describe.js";
import { t } from "./language.js";
import { keepFocus } from "./shell.js";

/** @import { Children } from "/shared/types.js" */
/** @import { Session } from "./session.js" */
/** @import { AnnotatedDocument, Item, Suggesting, Suggestion } from "./types.js" */

const KIND_OF_STEP = { words: "entity", flows: "flow", frames: "image" };

/**
 * The open suggestions of a kind, of one origin or (null) of all.
 *
 * @param {AnnotatedDocument} view
 * @param {string} kind
 * @param {string | null} origin
 */
export function openSuggestions(view, kind, origin = null) {
  return view.suggestions.filter(
    (each) => each.kind === kind && each.state === "pending" && (origin === null || each.origin === origin),
  );
}

export class SuggestionsPanel {
  /**
   * @param {Session} session
   * @param {string} step
   */
  constructor(session, step) {
    this.session = session;
    this.kind = KIND_OF_STEP[step];
    /** @type {string | null} */
    this.origin = null;
    this.element = element("section", { class: "suggestions" });
  }

  /** @param {AnnotatedDocument} view */
  update(view) {
    const all = view.suggestions.filter((each) => each.kind === this.kind);
    const { working = false, problem = null } = view.suggesting ?? {};
    this.element.hidden = all.length === 0 && !working && !problem;
    this.element.dataset.working = String(working);
    if (this.element.hidden) return;
    keepFocus(this.element, () => replaceContent(this.element, this.content(view, all)));
  }

  /**
   * What is still being computed, or went wrong.
   *
   * @param {Suggesting | null} suggesting
   */
  progressLine(suggesting) {
    const { working = false, problem = null } = suggesting ?? {};
    if (problem) return element("p", { class: "problem small" }, t("suggest.problem", { problem }));
    return working ? element("p", { class: "soft small" }, t("suggest.working")) : null;
  }

  /** @type {(view: AnnotatedDocument, all: Suggestion[]) => Children[]} */
  content(view, all) {
    const shown = leastSureFirst(openSuggestions(view, this.kind, this.origin));
    const rejected = all.filter(
      (each) => each.state === "rejected" && (this.origin === null || each.origin === this.origin),
    );
    return [
      element("h2", {}, t("suggest.title", { count: shown.length })),
      element("p", { class: "soft small" }, t("suggest.counts", view.progress)),
      this.progressLine(view.suggesting),
      all.length ? this.originChoice(all) : null,
      shown.length ? this.allButtons(shown) : element("p", { class: "soft" }, t("suggest.none")),
      element(
        "ul",
        { class: "suggestion-list" },
        shown.map((each) => this.row(view, each)),
      ),
      rejected.length ? this.rejectedList(view, rejected) : null,
    ];
  }

  originChoice(all) {
    const origins = [...new Set(all.map((each) => each.origin))];
    if (origins.length < 2)
      return element("p", { class: "small" }, `${t("suggest.from")}: `, element("strong", {}, origins[0]));
    const chips = [null, ...origins].map((origin) => {
      const choose = () => {
        this.origin = origin;
        this.update(this.session.view);
      };
      return element(
        "button",
        {
          type: "button",
          class: "small",
          "aria-pressed": String(origin === this.origin),
          data: { key: `from ${origin}` },
          on: { click: choose },
        },
        origin ?? "∗",
      );
    });
    return element("div", { class: "row tight" }, t("suggest.from"), chips);
  }

  /**
   * The first line with suggestions that can be accepted, with these; null where there is none. A flow belongs to the
   * line that it starts in.
   */
  get lineAtHand() {
    if (this.kind === "image") return null;
    const lines = Map.groupBy(
      openSuggestions(this.session.view, this.kind, this.origin).filter((each) => !each.clash),
      ({ item }) => (item.id ?? item.start).split("-", 2).join("-"),
    );
    const [first] = [...lines.keys()].sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
    if (first === undefined) return null;
    const [section, line] = first.split("-").map(Number);
    return { section, line, suggestions: lines.get(first) ?? [] };
  }

  acceptLine() {
    const found = this.lineAtHand;
    if (found) this.accept(found.suggestions);
    return found !== null;
  }

  lineButton() {
    const found = this.lineAtHand;
    return (
      found &&
      element(
        "button",
        {
          type: "button",
          class: "small",
          title: t("suggest.accept.line.title"),
          data: { key: "accept line" },
          on: { click: () => this.acceptLine() },
        },
        t("suggest.accept.line", { count: found.suggestions.length }),
        element("kbd", { "aria-hidden": "true" }, "Y"),
      )
    );
  }

  allButtons(shown) {
    const acceptable = shown.filter((each) => !each.clash);
    return element(
      "div",
      { class: "row tight" },
      this.lineButton(),
      element(
        "button",
        {
          type: "button",
          class: "small",
          data: { key: "accept all" },
          disabled: acceptable.length === 0,
          on: { click: () => this.accept(acceptable) },
        },
        t("suggest.accept.all", { count: acceptable.length }),
      ),
      element(
        "button",
        { type: "button", class: "small", data: { key: "reject all" }, on: { click: () => this.reject(shown) } },
        t("suggest.reject.all", { count: shown.length }),
      ),
    );
  }

  /** @type {(view: AnnotatedDocument, suggestion: Suggestion) => HTMLElement} */
  row(view, suggestion) {
    const text = suggestionText(view, suggestion);
    const reason =
      suggestion.clash && describeRefusal(view, { code: suggestion.clash, detail: {}, message: suggestion.clash });
    const button = (name, sign, act) =>
      element(
        "button",
        {
          type: "button",
          class: "small icon",
          title: t(`suggest.${name}`),
          "aria-label": `${t(`suggest.${name}`)}: ${text}`,
          data: { key: `${name} ${suggestion.key}` },
          disabled: name === "accept" && Boolean(reason),
          on: { click: act },
        },
        sign,
      );
    return element(
      "li",
      { class: "suggestion", data: { suggestion: suggestion.key } },
      element(
        "div",
        { lang: this.session.view.language },
        text,
        element("span", { class: "origin" }, suggestion.origin, sureness(suggestion)),
        reason ? element("div", { class: "soft small" }, t("suggest.clash", { reason })) : null,
      ),
      button("accept", "✓", () => this.accept([suggestion])),
      button("reject", "✗", () => this.reject([suggestion])),
    );
  }

  rejectedList(view, rejected) {
    const rows = rejected.map((each) =>
      element(
        "li",
        { class: "suggestion" },
        element("div", { class: "soft", lang: view.language }, suggestionText(view, each)),
        element(
          "button",
          { type: "button", class: "small", on: { click: () => this.settle("reconsider", [each]) } },
          t("suggest.reconsider"),
        ),
      ),
    );
    return element(
      "details",
      {},
      element("summary", {}, t("suggest.rejected", { count: rejected.length })),
      element("ul", { class: "suggestion-list" }, rows),
    );
  }

  accept(suggestions) {
    for (const [origin, group] of byOrigin(suggestions)) {
      const items = group.map(({ key, kind, item }) => ({ key, kind, item }));
      this.session.do({ op: "accept", origin, items, replace: false });
    }
  }

  reject(suggestions) {
    this.settle("reject", suggestions);
  }

  settle(op, suggestions) {
    for (const [origin, group] of byOrigin(suggestions))
      this.session.do({ op, origin, keys: group.map((each) => each.key) });
  }
}

/**
 * Mark the line that is read next in a drawn text, and no other one.
 *
 * @param {Element} place
 * @param {{ section: number, line: number } | null} found
 */
export function markLine(place, found) {
  for (const drawn of findAll(place, ".text-line")) {
    const isFound = Number(drawn.dataset.section) === found?.section && Number(drawn.dataset.line) === found?.line;
    drawn.classList.toggle("at-hand", isFound);
  }
}

/** What needs a look most comes first; the others stay in order. */
function leastSureFirst(suggestions) {
  return suggestions.toSorted((one, other) => (one.confidence ?? 1) - (other.confidence ?? 1));
}

/**
 * How sure a computed suggestion is.
 *
 * @param {Suggestion} suggestion
 */
function sureness({ confidence }) {
  return confidence === undefined ? "" : ` ${Math.round(100 * confidence)} %`;
}

function byOrigin(suggestions) {
  return Map.groupBy(suggestions, (each) => each.origin);
}

/**
 * A suggestion, or an entry of the differences, as a short text.
 *
 * @param {AnnotatedDocument} view
 * @param {Pick<Item, "kind" | "item">} decision
 */
export function suggestionText(view, { kind, item }) {
  if (kind === "entity") return `${wordsText(view, item)} ${item.tag}`;
  if (kind === "flow") return `${entityText(view, item.start)} → ${entityText(view, item.end)}  ${item.label}`;
  return `${entityText(view, item.action)} / ${entityText(view, item.object)}: ${sideText(item.before)} → ${sideText(item.after)}`;
}
