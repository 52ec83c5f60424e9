// Reads {likely, entities, flows} per line, and answers with the label that the page would propose for each flow, with
// those before it drawn already.

import { createInterface } from "node:readline";

import { likelyLabel } from "../../../recipeflow/annotate/static/likely_flow.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { likely, entities, flows } = JSON.parse(line);
  const byId = new Map(entities.map((entity) => [entity.id, entity]));
  const labels = flows.map((flow, i) =>
    likelyLabel(likely, { entities, flows: flows.slice(0, i) }, byId.get(flow.start), byId.get(flow.end)),
  );
  console.log(JSON.stringify(labels));
}
