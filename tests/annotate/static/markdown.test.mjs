// Guidelines as a tree: what is Markdown becomes a node, everything else stays text.

import assert from "node:assert/strict";
import { test } from "node:test";

import { readMarkdown } from "../../../recipeflow/annotate/static/markdown.js";

const paragraph = (...children) => ({ kind: "paragraph", children });

test("headings, paragraphs, emphasis and code", () => {
  assert.deepEqual(readMarkdown("# How *we* do it #\n\nRead `this`,\n**now**. 2*3 snake_case_name \\*"), [
    { kind: "heading", level: 1, children: ["How ", { kind: "em", children: ["we"] }, " do it"] },
    paragraph(
      "Read ",
      { kind: "code", text: "this" },
      ",\n",
      { kind: "strong", children: ["now"] },
      ". 2*3 snake_case_name *",
    ),
  ]);
});

test("lists inside lists, and text after them", () => {
  const [list, after] = readMarkdown("3. one\n   - a\n   - b\n\n4. two\n\nafter");
  assert.deepEqual([list.ordered, list.start, list.items.length], [true, 3, 2]);
  assert.deepEqual(list.items[0].map((block) => block.kind), ["paragraph", "list"]);
  assert.deepEqual(list.items[0][1].items, [[paragraph("a")], [paragraph("b")]]);
  assert.deepEqual(after, paragraph("after"));
});

test("tables, quotes, rules and fenced code", () => {
  const blocks = readMarkdown("| a | b |\n|---|:-:|\n| 1 \\| 2 | **x** |\n\n> quoted\n> # too\n\n---\n```js\n# <b>\n```\nend");
  assert.deepEqual(blocks.map((block) => block.kind), ["table", "quote", "rule", "code", "paragraph"]);
  assert.deepEqual(blocks[0].rows, [[["1 | 2"], [{ kind: "strong", children: ["x"] }]]]);
  assert.deepEqual(blocks[1].blocks[1].level, 1);
  assert.equal(blocks[3].text, "# <b>");
});

test("HTML is text, pictures are their description, and only links to the web are links", () => {
  assert.deepEqual(readMarkdown("<script>x</script> <img src=x onerror=y>"), [
    paragraph("<script>x</script> <img src=x onerror=y>"),
  ]);
  assert.deepEqual(readMarkdown("![a pan](https://example.org/pan.png)"), [paragraph("a pan")]);
  for (const url of ["javascript:alert(1)", "JaVaScRiPt:alert`1`", "data:text/html,x", "//example.org", "/r/x", "file:///x"])
    assert.deepEqual(readMarkdown(`[here](${url.replaceAll("(", "").replaceAll(")", "")})`), [paragraph("here")]);
  assert.deepEqual(readMarkdown("[here](https://example.org/a?b=c)"), [
    paragraph({ kind: "link", url: "https://example.org/a?b=c", children: ["here"] }),
  ]);
});

test("odd text ends, and is all there", () => {
  const words = (node) =>
    typeof node === "string" ? node : [node.text, node.children, node.blocks, node.items, node.head, node.rows].flat(9).filter(Boolean).map(words).join("");
  for (const text of ["", "\n\n", "```\nopen", "> ".repeat(50) + "x", "- ".repeat(200) + "x", "*".repeat(500), "[".repeat(500), "| a |", "1.", "#", "**a", "`"]) {
    const found = readMarkdown(text).map(words).join("");
    assert.equal(found.includes("x"), text.includes("x"), JSON.stringify(text));
  }
  assert.ok(readMarkdown("*a* ".repeat(20_000)).length === 1);
});
