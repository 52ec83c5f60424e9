// The same change to many recipes: one operation for each, sent like any other, and undone together.

import { Outbox } from "./outbox.js";

/** @import { Operation } from "./types.js" */
/** @import { Hit } from "./find_hits.js" */
/** @typedef {{ layer: string, recipe: string, revision: number, operation: Operation }} Repair */
/** @typedef {Repair & { saved: boolean, reason: any }} Outcome With its new revision if it was saved, else why not. */

/**
 * One operation per recipe and layer that gives hits another tag, or flows another label.
 *
 * @type {(hits: Hit[], to: string) => Repair[]}
 */
export function planRepairs(hits, to) {
  const groups = Map.groupBy(hits.filter((hit) => wouldChange(hit, to)), (hit) => `${hit.layer}/${hit.recipe.id}`);
  return [...groups.values()].map((group) => {
    const { layer, recipe, step } = group[0];
    const operation =
      step === "words"
        ? { op: "retag_all", entities: group.map((hit) => hit.at), tag: to }
        : { op: "relabel_all", flows: group.map(flowOf), to };
    return { layer, recipe: recipe.id, revision: recipe.revision, operation };
  });
}

function wouldChange(hit, to) {
  return hit.step === "words" ? hit.tags[0] !== to : hit.label !== to;
}

function flowOf({ ends, label }) {
  return { start: ends[0].id, end: ends[1].id, label };
}

/**
 * Send repairs, recipe after recipe. `onProgress(done)` is called after each. What cannot reach the server waits in
 * the browser's storage like every other click; what was changed elsewhere meanwhile is left as it is there.
 *
 * @type {(repairs: Repair[], onProgress: (done: number) => void) => Promise<Outcome[]>}
 */
export async function sendRepairs(repairs, onProgress) {
  /** @type {Outcome[]} */
  const outcomes = [];
  for (const repair of repairs) {
    outcomes.push(await send(repair));
    onProgress(outcomes.length);
  }
  return outcomes;
}

/** What takes saved repairs back. */
export function undoOf(outcomes) {
  return outcomes.filter(({ saved }) => saved).map((outcome) => ({ ...outcome, operation: { op: "undo" } }));
}

/** @type {(repair: Repair) => Promise<Outcome>} */
function send(repair) {
  return new Promise((resolve) => {
    const { layer, recipe } = repair;
    const end = (outcome) => {
      box.close();
      resolve({ ...repair, reason: null, saved: false, ...outcome });
    };
    const box = new Outbox(layer, recipe, {
      onAnswer: ({ revision }, { operation }) => {
        if (operation === repair.operation) end({ saved: true, revision });
      },
      onRefusal: (reason, { operation }) => {
        if (operation === repair.operation) end({ reason });
      },
      onChange: () => {
        if (!box.conflict) return;
        if (box.conflict.mine === repair.operation) box.drop(box.queue[0]);
        end({ reason: "conflict" });
      },
    });
    box.start(repair.revision);
    box.add(repair.operation);
  });
}
