// What cannot be compared with the server's answer, and what a reader should see at a glance. test_predict.py compares.

import assert from "node:assert/strict";
import { test } from "node:test";

import { predict } from "../../../recipeflow/annotate/static/predict.js";

const entity = (id, end, tag) => {
  const [section, line, start] = id.split("-").map(Number);
  return { id, section, line, start, end, tag, text: null, origin: "release" };
};
const flow = (start, end, label) => ({ start, end, label, origin: "release" });
const pair = (action, object, before, after) => {
  return { key: `${action}/${object}`, action, object, before, after, traced: true, offer: null, origin: null };
};

/** Cut the cucumber: a food, an action, and the flow between them. */
function cutting() {
  const words = ["きゅうり", "を", "薄く", "切る", "。"].map((text, i) => ({ id: `1-0-${i}`, text, start: i, end: i + 1 }));
  return {
    id: "cut",
    title: null,
    url: null,
    layer: "alice",
    frames: null,
    sections: [
      { name: "ingredients", lines: [] },
      { name: "instructions", lines: [{ text: null, words }] },
    ],
    revision: 7,
    entities: [entity("1-0-0", 1, "F"), entity("1-0-3", 4, "Ac")],
    flows: [flow("1-0-0", "1-0-3", "Targ")],
    objects: [pair("1-0-3", "1-0-0", 4, null)],
    actions: [{ action: "1-0-3", linked: true, traced: ["1-0-0"] }],
    unconnected: [],
    done: { words: false, flows: false, frames: false },
    suggestions: [],
    notes: [],
  };
}

test("without operations the document is the very same", () => {
  const document = cutting();
  assert.equal(predict(document, []), document);
  assert.equal(predict(document, [{ op: "undo" }, { op: "redo" }]), document);
});

test("a prediction leaves the confirmed document alone", () => {
  const document = cutting();
  const before = structuredClone(document);
  const after = predict(document, [
    { op: "remove", entity: "1-0-0" },
    { op: "tag", section: 1, line: 0, start: 2, end: 4, tag: "Ac" },
    { op: "done", step: "words", done: true },
  ]);
  assert.deepEqual(document, before);
  assert.equal(after.sections, document.sections, "words are not copied: they never change");
  assert.equal(after.revision, 7);
});

test("what is new says that it is pending, and what is not does not", () => {
  const after = predict(cutting(), [{ op: "tag", section: 1, line: 0, start: 2, end: 3, tag: "Sf" }]);
  assert.deepEqual(
    after.entities.map(({ id, pending, origin }) => [id, pending ?? false, origin]),
    [
      ["1-0-0", false, "release"],
      ["1-0-2", true, null],
      ["1-0-3", false, "release"],
    ],
  );
  assert.deepEqual(after.unconnected, ["1-0-2"]);
});

test("flows and pairs follow an entity that begins with another word", () => {
  const after = predict(cutting(), [{ op: "reshape", entity: "1-0-3", start: 2, end: 4 }]);
  assert.deepEqual(after.flows.map(({ start, end }) => [start, end]), [["1-0-0", "1-0-2"]]);
  assert.deepEqual(after.objects.map(({ key, before }) => [key, before]), [["1-0-2/1-0-0", 4]]);
  assert.deepEqual(after.actions.map(({ action }) => action), ["1-0-2"]);
});

test("an action that is none any more shows no pairs, and shows them again when it is one", () => {
  const retag = (tag) => ({ op: "retag", entity: "1-0-3", tag });
  assert.deepEqual(predict(cutting(), [retag("Af")]).objects, []);
  assert.deepEqual(predict(cutting(), [retag("Af"), retag("Ac")]).objects, cutting().objects);
});

test("undo takes back the last queued operation, and redo brings it back", () => {
  const remove = { op: "remove", entity: "1-0-0" };
  const done = { op: "done", step: "words", done: true };
  const ids = (operations) => predict(cutting(), operations).entities.map((each) => each.id);
  assert.deepEqual(ids([remove, { op: "undo" }, done]), ["1-0-0", "1-0-3"]);
  assert.deepEqual(ids([done, remove, { op: "undo" }, { op: "redo" }]), ["1-0-3"]);
});

test("what the server will refuse or does not know shows nothing wrong", () => {
  const document = cutting();
  const operations = [
    { op: "split", entity: "1-0-0", at: 1, tag: null },
    { op: "reshape", entity: "9-9-9", start: 0, end: 1 },
    { op: "flow", start: "1-0-0", end: "1-0-0", label: "Targ" },
    { op: "flow", start: "1-0-0", end: "1-0-3", label: "Targ" },
    { op: "remove_object", key: "9-9-9/?0" },
    { op: "an operation of a newer server" },
  ];
  for (const operation of operations) assert.deepEqual(predict(document, [operation]), document);
});

const accept = (...items) => ({ op: "accept", origin: "model", items, replace: true });

test("a suggested flow that would close a circle is not shown", () => {
  const item = flow("1-0-3", "1-0-0", "F-eq");
  const after = predict(cutting(), [accept({ key: "fg:1-0-3>1-0-0:F-eq", kind: "flow", item })]);
  assert.deepEqual(after.flows, cutting().flows);
});

test("a suggested entity that would make flows a circle is not shown", () => {
  const document = cutting();
  document.entities = [entity("1-0-0", 1, "F"), entity("1-0-1", 2, "Ac"), entity("1-0-4", 5, "F")];
  document.flows = [flow("1-0-0", "1-0-4", "Targ"), flow("1-0-4", "1-0-1", "Targ")];
  const item = entity("1-0-0", 2, "F");
  const after = predict(document, [accept({ key: "ne:1-0-0:2:F", kind: "entity", item })]);
  assert.deepEqual(after.entities, document.entities);
});

test("a pair that only its frames kept in the list goes with them", () => {
  const document = cutting();
  document.objects[0].traced = false;
  document.actions[0].traced = [];
  const clear = { op: "frame", key: "1-0-3/1-0-0", side: "before", value: null };
  assert.deepEqual(predict(document, [clear]).objects, []);
  const removed = predict(document, [{ op: "remove_object", key: "1-0-3/1-0-0" }]);
  assert.deepEqual(removed.objects, []);
  assert.equal(removed.actions[0].linked, true, "nobody edited the list");
  assert.equal(predict(cutting(), [clear]).objects.length, 1, "one that flows lead to stays");
});
