// A small part of Markdown as a tree: headings, paragraphs, lists, tables, quotes, code, emphasis and links. Anything
// else, HTML above all, stays the text that it is. Whoever draws the tree makes elements of it, never HTML.

/**
 * @typedef {string | { kind: "strong" | "em", children: Inline[] } | { kind: "code", text: string }
 *   | { kind: "link", url: string, children: Inline[] }} Inline
 *
 * @typedef {{ kind: "heading", level: number, children: Inline[] } | { kind: "paragraph", children: Inline[] }
 *   | { kind: "code", text: string } | { kind: "quote", blocks: Block[] } | { kind: "rule" }
 *   | { kind: "list", ordered: boolean, start: number, items: Block[][] }
 *   | { kind: "table", head: Inline[][], rows: Inline[][][] }} Block
 */

const DEEPEST = 6;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*\s*$/;
const FENCE = /^\s{0,3}(```+|~~~+)/;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const ROW = /^\s*\|.*\|\s*$/;
const SEPARATOR = /^\s*\|(\s*:?-+:?\s*\|)+\s*$/;
const QUOTE = /^\s{0,3}>\s?/;

const INLINES = [
  { form: /`([^`]+)`/y, make: (found) => ({ kind: "code", text: found[1] }) },
  { form: /\*\*(?=\S)((?:[^*\\]|\\.|\*(?!\*))+?)\*\*/y, make: (found, depth) => emphasis("strong", found[1], depth) },
  { form: /\*(?=\S)((?:[^*\\]|\\.)+?)\*/y, make: (found, depth) => emphasis("em", found[1], depth) },
  { form: /_(?=\S)((?:[^_\\]|\\.)+?)_(?!\w)/y, make: (found, depth) => emphasis("em", found[1], depth), apart: true },
  { form: /!\[([^[\]]*)\]\([^()\s]*\)/y, make: (found) => found[1] }, // nothing is loaded: its description remains
  { form: /\[([^[\]]*)\]\(([^()\s]*)\)/y, make: (found, depth) => linked(found[1], found[2], depth) },
  { form: /\\([!-/:-@[-`{-~])/y, make: (found) => found[1] },
];

/**
 * The blocks of a text.
 *
 * @param {string} text
 * @returns {Block[]}
 */
export function readMarkdown(text, depth = 0) {
  const lines = text.split("\n");
  /** @type {Block[]} */
  const blocks = [];
  for (let at = 0; at < lines.length;) {
    const [block, next] = lines[at].trim() ? readBlock(lines, at, depth) : [null, at + 1];
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

/** @type {(lines: string[], at: number, depth: number) => [Block, number]} */
function readBlock(lines, at, depth) {
  const line = lines[at];
  const heading = HEADING.exec(line);
  if (heading) return [{ kind: "heading", level: heading[1].length, children: readInline(heading[2]) }, at + 1];
  const fence = FENCE.exec(line);
  if (fence) return readFence(lines, at, fence[1]);
  if (RULE.test(line)) return [{ kind: "rule" }, at + 1];
  if (ROW.test(line) && SEPARATOR.test(lines[at + 1] ?? "")) return readTable(lines, at);
  if (depth < DEEPEST && QUOTE.test(line)) {
    const end = runEnd(lines, at, (each) => QUOTE.test(each));
    const inner = lines.slice(at, end).map((each) => each.replace(QUOTE, ""));
    return [{ kind: "quote", blocks: readMarkdown(inner.join("\n"), depth + 1) }, end];
  }
  if (depth < DEEPEST && ITEM.test(line)) return readList(lines, at, depth);
  const end = Math.max(at + 1, runEnd(lines, at, (each, i) => each.trim() !== "" && (i === at || !beginsBlock(each))));
  const words = lines.slice(at, end).map((each) => each.trim());
  return [{ kind: "paragraph", children: readInline(words.join("\n")) }, end];
}

function beginsBlock(line) {
  return [HEADING, FENCE, RULE, QUOTE, ITEM, ROW].some((form) => form.test(line));
}

/** The first line from `at` on that does not belong. */
function runEnd(lines, at, belongs) {
  let end = at;
  while (end < lines.length && belongs(lines[end], end)) end += 1;
  return end;
}

/** @type {(lines: string[], at: number, mark: string) => [Block, number]} */
function readFence(lines, at, mark) {
  const end = runEnd(lines, at + 1, (line) => !line.trim().startsWith(mark));
  return [{ kind: "code", text: lines.slice(at + 1, end).join("\n") }, Math.min(end + 1, lines.length)];
}

/** @type {(lines: string[], at: number) => [Block, number]} */
function readTable(lines, at) {
  const end = runEnd(lines, at + 2, (line) => ROW.test(line));
  const [head, ...rows] = [lines[at], ...lines.slice(at + 2, end)].map((line) =>
    line
      .trim()
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => readInline(cell.trim().replaceAll("\\|", "|"))),
  );
  return [{ kind: "table", head, rows }, end];
}

/**
 * A list: lines that are indented more than its marks belong to the item above them.
 *
 * @type {(lines: string[], at: number, depth: number) => [Block, number]}
 */
function readList(lines, at, depth) {
  const [, indent, mark] = /** @type {RegExpExecArray} */ (ITEM.exec(lines[at]));
  const isOrdered = (each) => /\d/.test(each);
  const isItem = (line) => {
    const found = ITEM.exec(line);
    return found !== null && found[1].length === indent.length && isOrdered(found[2]) === isOrdered(mark);
  };
  const isInside = (line) => line.trim() === "" || line.search(/\S/) > indent.length;
  const belongs = (line) => line.trim() !== "" && (isInside(line) || isItem(line));
  /** @type {string[][]} */
  const items = [];
  let end = at;
  for (; end < lines.length && (isItem(lines[end]) || isInside(lines[end])); end += 1) {
    if (isItem(lines[end])) items.push([lines[end].replace(ITEM, "$3")]);
    else if (lines[end].trim() === "" && !belongs(lines[end + 1] ?? "")) break;
    else items[items.length - 1].push(lines[end].slice(indent.length + 2));
  }
  const blocks = items.map((item) => readMarkdown(item.join("\n"), depth + 1));
  return [{ kind: "list", ordered: isOrdered(mark), start: Number.parseInt(mark, 10) || 1, items: blocks }, end];
}

/** @type {(text: string, depth?: number) => Inline[]} */
function readInline(text, depth = 0) {
  if (depth >= DEEPEST) return [text];
  /** @type {Inline[]} */
  const found = [];
  let plain = "";
  for (let at = 0; at < text.length;) {
    const [node, length] = inlineAt(text, at, depth);
    if (node === null) plain += text[at];
    else if (typeof node === "string") plain += node;
    else {
      if (plain) found.push(plain);
      plain = "";
      found.push(node);
    }
    at += length;
  }
  return plain ? [...found, plain] : found;
}

/** @type {(text: string, at: number, depth: number) => [Inline | null, number]} */
function inlineAt(text, at, depth) {
  if (!"`*_![\\".includes(text[at])) return [null, 1];
  for (const { form, make, apart } of INLINES) {
    form.lastIndex = at;
    const match = form.exec(text);
    if (match && !(apart && at > 0 && /\w/.test(text[at - 1])))
      return [/** @type {Inline} */ (make(match, depth)), match[0].length];
  }
  return [null, 1];
}

/** @type {(kind: "strong" | "em", text: string, depth: number) => Inline} */
function emphasis(kind, text, depth) {
  return { kind, children: readInline(text, depth + 1) };
}

/** A link to the web; any other address, such as one that runs a script, leaves only its text. */
function linked(text, url, depth) {
  if (!/^https?:\/\/[^\s]+$/i.test(url)) return text;
  return { kind: "link", url, children: readInline(text, depth + 1) };
}
