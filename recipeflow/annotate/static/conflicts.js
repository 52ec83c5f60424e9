// The same recipe changed in two windows: both sides are shown, and the annotator decides what to do with their own.

import { element, replaceContent } from "/shared/dom.js";

import { describeOperation } from "./describe.js";
import { t } from "./language.js";

/** @import { Session } from "./session.js" */
/** @import { Conflict } from "./types.js" */

export class ConflictBanner {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    this.shown = null;
    this.element = element("section", { class: "conflict", role: "alert", hidden: true });
  }

  update() {
    const { conflict, queue } = this.session.outbox;
    if (conflict === this.shown) return;
    this.shown = conflict;
    this.element.hidden = !conflict;
    if (conflict) replaceContent(this.element, this.content(conflict, queue.length - 1));
  }

  /** @type {(conflict: Conflict, more: number) => Node[]} */
  content({ theirs, mine }, more) {
    const { outbox, view } = this.session;
    const there = theirs.map(({ operation, time }) =>
      element("li", {}, describeOperation(view, operation), element("span", { class: "soft" }, ` ${clock(time)}`)),
    );
    const button = (name, kind, act) =>
      element(
        "button",
        { type: "button", class: kind, data: { choice: name }, on: { click: act } },
        t(`conflict.${name}`),
      );
    return [
      element("h2", {}, t("conflict.title")),
      element("p", {}, t("conflict.why")),
      element(
        "div",
        { class: "conflict-sides" },
        element("div", { class: "theirs" }, element("h3", {}, t("conflict.theirs")), element("ul", {}, there)),
        element(
          "div",
          { class: "mine" },
          element("h3", {}, t("conflict.mine")),
          element("p", {}, describeOperation(view, mine)),
          more > 0 ? element("p", { class: "soft" }, t("conflict.more", { count: more })) : null,
        ),
      ),
      element(
        "div",
        { class: "row" },
        button("insist", "primary", () => outbox.insist()),
        button("yield", "", () => outbox.yield()),
      ),
    ];
  }
}

function clock(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleTimeString();
}
