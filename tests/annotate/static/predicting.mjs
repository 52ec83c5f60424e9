// Predictions on request: each line that comes in is {document, operations}, each that goes out is the prediction.

import { createInterface } from "node:readline";

import { predict } from "../../../recipeflow/annotate/static/predict.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { document, operations } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(predict(document, operations))}\n`);
}
