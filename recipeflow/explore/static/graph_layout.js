// Sizes and places, in pixels, of the boxes of a flow graph: columns of the layout become levels from top to bottom, because a
// recipe is deeper than it is wide and boxes are wider than they are high.

const SLOT_WIDTH = 126;
const BOX_WIDTH = 116;
const LINE_HEIGHTS = { text: 18, english: 14, note: 14 };
const BOX_PADDING = 6;
const LEVEL_GAP = 34;
const EDGE_MARGIN = 12;

/** How wide text is at a size, roughly: letters of East Asian scripts are as wide as high, others about half. */
export function textWidth(text, size) {
  let width = 0;
  for (const letter of text) width += letter.codePointAt(0) > 0x2e7f ? size : size * 0.56;
  return width;
}

/** Text cut to a width, with a sign that it was. */
export function cutText(text, size, width) {
  if (textWidth(text, size) <= width) return text;
  let cut = "";
  for (const letter of text) {
    if (textWidth(`${cut}${letter}…`, size) > width) break;
    cut += letter;
  }
  return `${cut}…`;
}

/**
 * @typedef {{ kind: "text" | "english" | "note", text: string }} BoxLine
 * @typedef {{ x: number, y: number, level: number, width: number, height: number, lines: BoxLine[] }} PlacedBox
 */

/**
 * Boxes by id and the size of all; `linesOf(id)` gives what is written in a box.
 *
 * @param {[id: string, level: number, slot: number][]} places
 * @param {(id: string) => BoxLine[]} linesOf
 * @returns {{ boxes: Map<string, PlacedBox>, width: number, height: number }}
 */
export function placeBoxes(places, linesOf) {
  const levels = new Map();
  const boxes = new Map();
  for (const [id, level, slot] of places) {
    const lines = linesOf(id);
    const height = BOX_PADDING + lines.reduce((sum, line) => sum + LINE_HEIGHTS[line.kind], 0);
    boxes.set(id, { x: EDGE_MARGIN + slot * SLOT_WIDTH, level, width: BOX_WIDTH, height, lines });
    levels.set(level, Math.max(levels.get(level) ?? 0, height));
  }
  const tops = new Map();
  let y = EDGE_MARGIN;
  for (const level of [...levels.keys()].sort((a, b) => a - b)) {
    tops.set(level, y);
    y += levels.get(level) + LEVEL_GAP;
  }
  for (const box of boxes.values()) box.y = tops.get(box.level) + levels.get(box.level) - box.height;
  const right = Math.max(0, ...[...boxes.values()].map((box) => box.x + box.width));
  return { boxes, width: right + EDGE_MARGIN, height: y - LEVEL_GAP + EDGE_MARGIN };
}

/** Where the lines of a box stand, from its top: baselines. */
export function baselines(lines) {
  let y = BOX_PADDING / 2;
  return lines.map((line) => (y += LINE_HEIGHTS[line.kind]) - LINE_HEIGHTS[line.kind] * 0.27);
}
