// The help: what tags and labels mean, and all keys.

import { element } from "/shared/dom.js";

import { definitionOf } from "./definitions.js";
import { labelName, language, t, tagName } from "./language.js";
import { openDialog } from "./shell.js";

/** @import { Server } from "./types.js" */

const KEYS = {
  everywhere: [
    ["Ctrl Z", "undo"],
    ["Ctrl Shift Z", "redo"],
    ["[ ]", "steps"],
    ["Esc", "escape"],
    ["Y", "line"],
    ["?", "help"],
    ["G", "guidelines"],
  ],
  words: [
    ["← →", "words.move"],
    ["Shift ← →", "words.extend"],
    ["1 – 8", "words.tag"],
    ["S", "words.split"],
    ["C", "words.cut"],
    ["M", "words.join"],
    ["Delete", "words.remove"],
    ["U", "words.unsure"],
  ],
  flows: [
    ["← → ↑ ↓", "flows.move"],
    ["Enter", "flows.pick"],
    ["N", "flows.next"],
    ["J K", "flows.ends"],
    ["/", "flows.find"],
    ["1 – 0 , Q W E", "flows.label"],
    ["Delete", "flows.delete"],
    ["U", "flows.unsure"],
  ],
  frames: [
    ["← →", "frames.move"],
    ["↑ ↓", "frames.rows"],
    ["B", "frames.before"],
    ["A", "frames.after"],
    ["N", "frames.hidden"],
    ["O", "frames.offer"],
    ["X", "frames.clear"],
    ["J", "frames.open"],
    ["K L", "frames.object"],
    ["U", "frames.unsure"],
    ["− +", "frames.zoom"],
  ],
};

/**
 * What tags and labels mean and all keys, as an overlay; what belongs to the step at work comes first.
 *
 * @param {Server} server
 * @param {string} [step]
 */
export function openHelp(server, step = "words") {
  const meanings = [meaningsOf(server, "tags", tagName), meaningsOf(server, "labels", labelName)];
  if (step === "flows") meanings.reverse();
  const parts = step === "frames" ? [allKeys(), meanings] : [meanings, allKeys()];
  openDialog(t("help.title"), element("div", { class: "help-parts" }, parts));
}

/** @type {(server: Server, kind: "tags" | "labels", nameOf: (id: string) => string) => HTMLElement} */
function meaningsOf(server, kind, nameOf) {
  const rows = Object.keys(server[kind]).map((id) => {
    const { meaning, example } = definitionOf(language(), server.language, kind, id);
    const sample = kind === "tags" ? `tag-sample tag-${id}` : `label-sample label-${id}`;
    return element(
      "tr",
      { data: { meaning: id } },
      element("th", { scope: "row" }, element("span", { class: sample }, id)),
      element("td", {}, element("strong", {}, nameOf(id)), element("br"), meaning),
      element("td", { class: "soft", lang: server.language }, example),
    );
  });
  return element("section", {}, element("h3", {}, t(`help.${kind}`)), element("table", { class: "meanings" }, element("tbody", {}, rows)));
}

function allKeys() {
  const parts = Object.entries(KEYS).map(([step, keys]) =>
    element(
      "section",
      {},
      element("h3", {}, step === "everywhere" ? t("keys.everywhere") : t(`step.${step}`)),
      element(
        "dl",
        { class: "keys" },
        keys.map(([key, name]) => [element("dt", {}, keyCaps(key)), element("dd", {}, t(`keys.${name}`))]),
      ),
    ),
  );
  return element("section", {}, element("h2", {}, t("keys.title")), element("div", { class: "key-groups" }, parts));
}

function keyCaps(keys) {
  return keys.split(" ").map((key) => (/^[–,]$/.test(key) ? ` ${key} ` : element("kbd", {}, key)));
}
