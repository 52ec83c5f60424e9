// Requests to the server. An error response becomes a Refusal; no response at all becomes Unreachable.

const PATIENCE = 20_000;

/** The server said no: `code`, `reason` (English), `detail`, and the whole answer. */
export class Refusal extends Error {
  constructor(status, body) {
    super(body.error?.reason ?? `HTTP ${status}`);
    this.status = status;
    this.code = body.error?.code ?? "unknown";
    this.detail = body.error?.detail ?? {};
    this.body = body;
  }

  /**
   * Whether what was asked is itself wrong. Anything else may be better later: the storage fails, the token is missing,
   * another server with other recipes sits at this address.
   */
  get final() {
    return [400, 413, 422].includes(this.status);
  }
}

/** There was no answer; whether the request arrived is unknown. */
export class Unreachable extends Error {}

/** @type {(path: string) => Promise<any>} */
export function getJson(path) {
  return ask(path, { headers: { accept: "application/json" } });
}

/** @type {(path: string, body: object) => Promise<any>} */
export function postJson(path, body) {
  return ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

async function ask(path, options) {
  let answer;
  let body;
  try {
    answer = await fetch(path, { ...options, cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    body = await answer.json();
  } catch (problem) {
    throw new Unreachable(String(problem));
  }
  if (!answer.ok) throw new Refusal(answer.status, body);
  return body;
}

export function layerPath(layer) {
  return `/api/layers/${encodeURIComponent(layer)}`;
}

export function documentPath(layer, recipe) {
  return `${layerPath(layer)}/recipes/${encodeURIComponent(recipe)}`;
}

/** The whole frame. `stamp` changes with the pictures, so that they may be kept for ever. */
export function framePath(recipe, number, stamp) {
  return `/api/frames/${encodeURIComponent(recipe)}/${number}.jpg?v=${encodeURIComponent(stamp)}`;
}
