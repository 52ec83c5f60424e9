// The project's guidelines, drawn beside a recipe: a button opens and closes them, and this browser remembers it.

import { element, replaceContent } from "/shared/dom.js";

import { getJson } from "./api.js";
import { describeProblem } from "./describe.js";
import { t } from "./language.js";
import { readMarkdown } from "./markdown.js";
import { openDialog } from "./shell.js";

/** @import { Block, Inline } from "./markdown.js" */

const KEPT = "vrf-guidelines";

/** The panel beside a recipe, and the button that opens it; both stay away where the server has no guidelines. */
export class Guidelines {
  /** @param {() => void} onToggle */
  constructor(onToggle) {
    this.isOpen = false;
    this.isWanted = localStorage.getItem(KEPT) === "open";
    this.onToggle = onToggle;
    this.text = element("div", { class: "guidelines-text", tabindex: 0, role: "document" });
    const close = element(
      "button",
      { type: "button", class: "quiet", "aria-label": t("close"), on: { click: () => this.toggle() } },
      "×",
    );
    this.element = element(
      "aside",
      { class: "guidelines panel", "aria-label": t("guidelines.title"), hidden: true },
      element("div", { class: "row spread" }, element("h2", {}, t("guidelines.title")), close),
      this.text,
    );
    this.button = element(
      "button",
      {
        type: "button",
        class: "quiet icon",
        hidden: true,
        title: `${t("guidelines.title")} (G)`,
        "aria-label": t("guidelines.title"),
        "aria-expanded": "false",
        data: { tool: "guidelines" },
        on: { click: () => this.toggle() },
      },
      "§",
    );
    this.load();
  }

  async load() {
    const drawn = await loadGuidelines();
    if (!drawn) return;
    replaceContent(this.text, drawn);
    this.button.hidden = false;
    if (this.isWanted) this.show();
  }

  /** Open or close them; while they are still loading, the key counts when they are there. */
  toggle() {
    this.isWanted = !this.isWanted;
    localStorage.setItem(KEPT, this.isWanted ? "open" : "closed");
    if (!this.button.hidden) this.show();
  }

  show() {
    this.isOpen = this.isWanted;
    this.element.hidden = !this.isOpen;
    this.button.setAttribute("aria-expanded", String(this.isOpen));
    this.onToggle();
  }
}

/** The guidelines as a dialog, for pages without a place beside them. */
export function showGuidelines(drawn) {
  openDialog(t("guidelines.title"), element("div", { class: "guidelines-text" }, drawn));
}

/** The guidelines as elements; a file that can no longer be read is said, and null means that there are none. */
export async function loadGuidelines() {
  try {
    const { text } = await getJson("/api/guidelines");
    return text === null ? null : readMarkdown(text).map(drawBlock);
  } catch (problem) {
    return [element("p", { class: "problem" }, describeProblem(problem))];
  }
}

/** @type {(block: Block) => HTMLElement} */
function drawBlock(block) {
  switch (block.kind) {
    case "heading": // below the page's own headings
      return element(HEADINGS[block.level - 1], {}, block.children.map(drawInline));
    case "code":
      return element("pre", {}, element("code", {}, block.text));
    case "quote":
      return element("blockquote", {}, block.blocks.map(drawBlock));
    case "rule":
      return element("hr");
    case "list":
      return element(
        block.ordered ? "ol" : "ul",
        { start: block.ordered && block.start !== 1 ? block.start : null },
        block.items.map((item) => element("li", {}, item.map(drawBlock))),
      );
    case "table":
      return drawTable(block);
    default:
      return element("p", {}, block.children.map(drawInline));
  }
}

/** @type {("h3" | "h4" | "h5" | "h6")[]} */
const HEADINGS = ["h3", "h3", "h4", "h5", "h6", "h6"];

/** @param {{ head: Inline[][], rows: Inline[][][] }} table */
function drawTable({ head, rows }) {
  const cells = (name, row) => row.map((cell) => element(name, {}, cell.map(drawInline)));
  return element(
    "table",
    {},
    element("thead", {}, element("tr", {}, cells("th", head))),
    element(
      "tbody",
      {},
      rows.map((row) => element("tr", {}, cells("td", row))),
    ),
  );
}

/** @type {(inline: Inline) => Node | string} */
function drawInline(inline) {
  if (typeof inline === "string") return inline;
  if (inline.kind === "code") return element("code", {}, inline.text);
  if (inline.kind !== "link") return element(inline.kind, {}, inline.children.map(drawInline));
  const props = { href: inline.url, target: "_blank", rel: "noopener noreferrer" };
  return element("a", props, inline.children.map(drawInline));
}
