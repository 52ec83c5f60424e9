// What the document will look like once the server has answered: shown at once, marked as pending, and replaced by the
// server's own answer. Nothing is decided here; where a prediction is wrong, the answer mends it.

/** The document with all queued operations applied. */
export function predict(document, operations) {
  const lasting = [];
  const taken = [];
  for (const operation of operations) {
    if (operation.op === "undo") {
      if (lasting.length) taken.push(lasting.pop());
    } else if (operation.op === "redo") {
      if (taken.length) lasting.push(taken.pop());
    } else lasting.push(operation);
  }
  if (!lasting.length) return document;
  const copy = { ...structuredClone(changing(document)), ...still(document) };
  for (const operation of lasting) PREDICTIONS[operation.op]?.(copy, operation);
  return copy;
}

const STILL = ["id", "title", "url", "sections", "layer", "frames"];

function still(document) {
  return Object.fromEntries(STILL.map((key) => [key, document[key]]));
}

function changing(document) {
  return Object.fromEntries(Object.entries(document).filter(([key]) => !STILL.includes(key)));
}

const PREDICTIONS = {
  tag(doc, { section, line, start, end, tag }) {
    const id = `${section}-${line}-${start}`;
    const inside = doc.entities.filter(
      (e) => e.section === section && e.line === line && e.start >= start && e.end <= end,
    );
    for (const entity of inside) rename(doc, entity.id, id);
    doc.entities = doc.entities.filter((e) => !inside.includes(e));
    insertEntity(doc, { id, tag, section, line, start, end, text: null, origin: null, pending: true });
  },
  retag(doc, { entity, tag }) {
    for (const found of doc.entities) if (found.id === entity) Object.assign(found, { tag, pending: true });
  },
  reshape(doc, { entity, start, end }) {
    const found = doc.entities.find((e) => e.id === entity);
    if (!found) return;
    const id = `${found.section}-${found.line}-${start}`;
    rename(doc, entity, id);
    Object.assign(found, { id, start, end, pending: true });
  },
  split(doc, { entity, at, tag }) {
    const first = doc.entities.find((e) => e.id === entity);
    if (!first || at <= first.start || at >= first.end) return;
    const second = {
      ...first,
      id: `${first.section}-${first.line}-${at}`,
      start: at,
      tag: tag ?? first.tag,
      pending: true,
    };
    Object.assign(first, { end: at, pending: true });
    insertEntity(doc, second);
  },
  remove(doc, { entity }) {
    doc.entities = doc.entities.filter((e) => e.id !== entity);
    doc.flows = doc.flows.filter((flow) => flow.start !== entity && flow.end !== entity);
    doc.objects = doc.objects.filter((object) => object.action !== entity && object.object !== entity);
    doc.actions = doc.actions.filter((action) => action.action !== entity);
    doc.unconnected = doc.unconnected.filter((id) => id !== entity);
  },
  flow(doc, { start, end, label }) {
    if (start === end || doc.flows.some((f) => f.start === start && f.end === end && f.label === label)) return;
    doc.flows.push({ start, end, label, origin: null, pending: true });
    doc.unconnected = doc.unconnected.filter((id) => id !== start && id !== end);
  },
  unflow(doc, { start, end, label }) {
    doc.flows = doc.flows.filter((f) => f.start !== start || f.end !== end || f.label !== label);
  },
  relabel(doc, { start, end, label, to }) {
    for (const f of doc.flows)
      if (f.start === start && f.end === end && f.label === label) Object.assign(f, { label: to, pending: true });
  },
  frame(doc, change) {
    setSide(doc, change);
  },
  frames(doc, { changes }) {
    for (const change of changes) setSide(doc, change);
  },
  remove_object(doc, { key }) {
    doc.objects = doc.objects.filter((object) => object.key !== key);
  },
  move_object(doc, { key, position }) {
    const moved = doc.objects.find((object) => object.key === key);
    if (!moved) return;
    const rest = doc.objects.filter((object) => object !== moved);
    const group = rest.filter((object) => object.action === moved.action);
    const next = group[position];
    const last = group.at(-1);
    const at = next ? rest.indexOf(next) : last ? rest.indexOf(last) + 1 : doc.objects.indexOf(moved);
    doc.objects = rest.toSpliced(at, 0, { ...moved, pending: true });
  },
  done(doc, { step, done }) {
    doc.done = { ...doc.done, [step]: done };
  },
  accept(doc, { items }) {
    for (const { key, kind, item } of items) {
      if (kind === "entity") this.tag(doc, item);
      if (kind === "flow") this.flow(doc, item);
      doc.suggestions = doc.suggestions.filter((suggestion) => suggestion.key !== key);
    }
  },
  reject(doc, { origin, keys }) {
    settle(doc, origin, keys, "rejected");
  },
  reconsider(doc, { origin, keys }) {
    settle(doc, origin, keys, "pending");
  },
};

function settle(doc, origin, keys, state) {
  for (const suggestion of doc.suggestions) {
    if (suggestion.origin === origin && keys.includes(suggestion.key)) suggestion.state = state;
  }
}

function setSide(doc, { key, side, value }) {
  for (const object of doc.objects) if (object.key === key) Object.assign(object, { [side]: value, pending: true });
}

function insertEntity(doc, entity) {
  doc.entities.push(entity);
  doc.entities.sort((a, b) => a.section - b.section || a.line - b.line || a.start - b.start);
}

function rename(doc, from, to) {
  if (from === to) return;
  const seen = new Set();
  doc.flows = doc.flows
    .map((f) => ({ ...f, start: f.start === from ? to : f.start, end: f.end === from ? to : f.end }))
    .filter(
      (f) =>
        f.start !== f.end &&
        !seen.has(JSON.stringify([f.start, f.end, f.label])) &&
        seen.add(JSON.stringify([f.start, f.end, f.label])),
    );
}
