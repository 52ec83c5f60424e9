// Up and down among entities that are drawn in lines of text.

/**
 * The entity in the next row above (-1) or below (1) that is nearest to one.
 *
 * @type {(spans: Map<string, HTMLElement>, from: string, direction: number) => string | null}
 */
export function nearestRow(spans, from, direction) {
  const here = spans.get(from)?.getBoundingClientRect();
  if (!here) return null;
  /** @type {string | null} */
  let best = null;
  let distance = Infinity;
  for (const [id, span] of spans) {
    const box = span.getBoundingClientRect();
    const drop = (box.top - here.top) * direction;
    const far = drop * 10 + Math.abs(box.left - here.left);
    if (drop > 8 && far < distance) [best, distance] = [id, far];
  }
  return best;
}
