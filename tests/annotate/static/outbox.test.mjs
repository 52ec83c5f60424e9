// The queue of unsent operations, against a real server on the loopback address that answers as each test says.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { Outbox, countUnsent, sendLeftovers } from "../../../recipeflow/annotate/static/outbox.js";

/** The browser's storage: its keys are the object's own, which its methods are not. */
class KeptStrings {
  getItem(key) {
    return Object.hasOwn(this, key) ? this[key] : null;
  }
  setItem(key, value) {
    this[key] = String(value);
  }
  removeItem(key) {
    delete this[key];
  }
}

const TAG = { op: "retag", entity: "1-0-2", tag: "F" };
const DONE = { op: "done", step: "words", done: true };
const fetchFromAnywhere = globalThis.fetch;
let server;
let received;
let answer;
let boxes;

before(async () => {
  server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    received.push({ path: request.url, ...body });
    const { status = 200, content } = answer(body, received.length);
    if (status === "nothing") return request.socket.destroy();
    return response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(content));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  globalThis.fetch = (path, options) => fetchFromAnywhere(`http://127.0.0.1:${port}${path}`, options);
});

beforeEach(() => {
  Object.defineProperty(globalThis, "localStorage", { value: new KeptStrings(), configurable: true });
  received = [];
  boxes = [];
  answer = saves;
});

afterEach(() => boxes.forEach((box) => box.close()));

after(() => {
  globalThis.fetch = fetchFromAnywhere;
  server.closeAllConnections();
  server.close();
});

const saves = ({ base }) => ({ content: { revision: base + 1, document: { revision: base + 1 }, effects: {} } });
const refuses = (status, code, more = {}) => ({
  status,
  content: { error: { code, reason: "expected otherwise", detail: more.detail ?? {} }, ...more },
});

/** An outbox that remembers what it reported, and can be waited for. */
function open(recipe = "salad") {
  const reported = { answers: [], refusals: [] };
  const waiting = [];
  const settle = () => waiting.splice(0).forEach((check) => check());
  const box = new Outbox("alice", recipe, {
    onAnswer: (each) => reported.answers.push(each.revision),
    onRefusal: (refusal, entry) => reported.refusals.push([refusal.code, entry.operation]),
    onChange: settle,
  });
  const becomes = async (state) => {
    while (box.state !== state) await new Promise((resolve) => waiting.push(resolve));
  };
  boxes.push(box);
  return { box, reported, becomes };
}

test("operations go out one after the other, each on top of the one before", async () => {
  const { box, reported, becomes } = open();
  box.start(3);
  box.add(TAG);
  box.add(DONE);
  box.add({ op: "undo" });
  assert.equal(countUnsent("alice").get("salad"), 3);
  await becomes("saved");
  assert.deepEqual(received.map(({ base }) => base), [3, 4, 5]);
  assert.deepEqual(received.map(({ path }) => path.split("/").at(-1)), ["operations", "operations", "undo"]);
  assert.deepEqual(received.map(({ operation }) => operation), [TAG, DONE, undefined]);
  assert.equal(new Set(received.map(({ uuid }) => uuid)).size, 3);
  assert.deepEqual(reported.answers, [4, 5, 6]);
  assert.deepEqual(Object.keys(localStorage), [], "what is saved is no longer kept");
});

test("without an answer it is sent again under the same uuid, later by itself", async () => {
  answer = (body, count) => (count < 3 ? { status: "nothing" } : saves(body));
  const { box, becomes } = open();
  box.start(0);
  box.add(TAG);
  await becomes("waiting");
  assert.equal(Object.keys(localStorage).length, 1);
  box.retryNow();
  await becomes("saving");
  await becomes("waiting");
  await becomes("saved");
  assert.equal(received.length, 3);
  assert.equal(new Set(received.map(({ uuid }) => uuid)).size, 1);
  assert.deepEqual(received.map(({ base }) => base), [0, 0, 0]);
});

test("a server whose storage fails is asked again: nothing is given up", async () => {
  answer = (body, count) => (count === 1 ? refuses(503, "database") : saves(body));
  const { box, reported, becomes } = open();
  box.start(0);
  box.add(TAG);
  await becomes("waiting");
  assert.deepEqual(reported.refusals, []);
  box.retryNow();
  await becomes("saved");
  assert.deepEqual(reported.answers, [1]);
});

test("what the server refuses for good is dropped, and the next takes its place", async () => {
  answer = (body, count) => (count === 1 ? refuses(422, "overlap") : saves(body));
  const { box, reported, becomes } = open();
  box.start(5);
  box.add(TAG);
  box.add(DONE);
  await becomes("saved");
  assert.deepEqual(reported.refusals, [["overlap", TAG]]);
  assert.deepEqual(received.map(({ base }) => base), [5, 5]);
  assert.deepEqual(Object.keys(localStorage), []);
});

for (const [choice, sent] of [
  ["insist", [TAG, TAG, DONE]],
  ["yield", [TAG, DONE]],
]) {
  test(`a conflict stops the queue until somebody decides: ${choice}`, async () => {
    const theirs = [{ operation: DONE, time: "2026-11-17T12:00:00Z" }];
    const conflict = { detail: { base: 2, revision: 9 }, operations: theirs, document: { revision: 9 } };
    answer = (body, count) => (count === 1 ? refuses(409, "conflict", conflict) : saves(body));
    const { box, becomes } = open();
    box.start(2);
    box.add(TAG);
    box.add(DONE);
    await becomes("conflict");
    assert.deepEqual(box.conflict, { theirs, mine: TAG, document: { revision: 9 } });
    box.retryNow();
    assert.equal(received.length, 1, "it does not try again by itself");
    box[choice]();
    await becomes("saved");
    assert.deepEqual(received.map(({ operation }) => operation), sent);
    assert.deepEqual(received.map(({ base }) => base), choice === "insist" ? [2, 9, 10] : [2, 9]);
  });
}

test("a closed tab leaves its operations to the next visit, in their order", async () => {
  const earlier = open();
  answer = () => ({ status: "nothing" });
  earlier.box.start(1);
  for (const operation of [TAG, DONE, { op: "redo" }]) earlier.box.add(operation);
  await earlier.becomes("waiting");
  earlier.box.close();
  const uuids = earlier.box.queue.map(({ uuid }) => uuid);
  received = [];
  answer = saves;
  const { box, becomes } = open();
  assert.deepEqual(box.queue.map(({ uuid }) => uuid), uuids);
  box.start(1);
  await becomes("saved");
  assert.deepEqual(received.map(({ uuid }) => uuid), uuids);
  assert.deepEqual(received.map(({ base }) => base), [1, 2, 3]);
});

test("operations keep their order when the clock is set back", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 2_000_000 });
  const { box } = open();
  box.close();
  box.add(TAG);
  context.mock.timers.setTime(1_000_000);
  box.add(DONE);
  const { box: next } = open();
  assert.deepEqual(next.queue.map(({ operation }) => operation), [TAG, DONE]);
});

test("a full storage is reported, and the operation still goes out", async () => {
  const { box, becomes } = open();
  localStorage.setItem = () => {
    throw new DOMException("full", "QuotaExceededError");
  };
  box.start(0);
  box.add(TAG);
  assert.equal(box.kept, false);
  await becomes("saved");
  assert.equal(received.length, 1);
});

test("leftovers of other recipes are counted by layer and sent in the background", async () => {
  answer = () => ({ status: "nothing" });
  for (const recipe of ["salad", "eggs / beaten"]) {
    const { box, becomes } = open(recipe);
    box.start(4);
    box.add(TAG);
    await becomes("waiting");
    box.close();
  }
  assert.deepEqual(countUnsent("alice"), new Map([["salad", 1], ["eggs / beaten", 1]]));
  assert.deepEqual(countUnsent("bob"), new Map());
  received = [];
  answer = saves;
  await new Promise((resolve) => {
    boxes = sendLeftovers("alice", () => boxes.every((box) => box.state === "saved") && resolve());
  });
  assert.deepEqual(received.map(({ base }) => base), [4, 4]);
  assert.equal(countUnsent("alice").size, 0);
});
