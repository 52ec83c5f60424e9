// Which recipe to offer next: the one whose suggestions are the least certain, which teaches the most; the one with the
// least done; or the next of the list.

import { STEPS } from "./routes.js";

const KEPT = "vrf-order";
export const ORDERS = ["certain", "done", "listed"];

/** The order that this browser's annotator chose. */
export function chosenOrder() {
  const kept = localStorage.getItem(KEPT);
  return kept && ORDERS.includes(kept) ? kept : ORDERS[0];
}

/** @param {string} order */
export function chooseOrder(order) {
  localStorage.setItem(KEPT, order);
}

/**
 * The next recipe with something left to do, or null.
 *
 * @param {Record<string, any>[]} recipes As listed, with their progress.
 * @param {string | null} current The recipe to leave; the list is gone round from there.
 * @param {string} order
 */
export function nextRecipe(recipes, current, order) {
  const at = recipes.findIndex((each) => each.id === current);
  const round = [...recipes.slice(at + 1), ...recipes.slice(0, Math.max(at, 0))];
  const open = round.filter((each) => STEPS.some((step) => !each.done[step]));
  const key = { certain: (each) => each.certainty ?? 1, done: amountDone, listed: () => 0 }[order];
  return open.toSorted((one, other) => key(one) - key(other))[0] ?? null;
}

/** Finished steps count most, then what was made in the others. */
function amountDone(row) {
  const steps = STEPS.filter((step) => row.done[step]).length;
  return steps * 1e6 + row.entities + row.flows + row.objects_set;
}
