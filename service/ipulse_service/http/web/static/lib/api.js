// The HTTP API, with the session cookie of this browser.

import { address } from "./address.js";
import { shownJSON } from "./shown.js";

const PATIENCE = 30_000; // ms; a slower answer counts as a lost connection
const CHANGES = new Set(["POST", "PUT", "PATCH", "DELETE"]);

const DATE = /\d{4}-\d\d-\d\d/; // in a query

/** The zone of this browser, in which dates of a query are. */
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** An error response: what is wrong, where, and whether a repetition is useless. */
export class ApiError extends Error {
  /** @param {number} status @param {any} body a problem document (RFC 9457) */
  constructor(status, body) {
    super(body.detail || body.title || `The service answered with HTTP ${status}.`);
    this.status = status;
    this.code = body.code ?? "";
    this.hint = body.hint ?? "";
    this.isFinal = status < 500 && status !== 429;
    /** @type {{pointer?: string, detail: string}[]} */
    this.errors = body.errors ?? [];
    /** @type {{options: Record<string, string>, meaning: string}[]} */
    this.choices = body.choices ?? [];
    this.requestId = body.request_id;
  }
}

export class Unreachable extends Error {
  constructor() {
    super("The service does not answer. Is it running?");
    this.isFinal = false;
  }
}

/**
 * Set by the session. `renew` asks for a new sign-in and resolves after it; `project` is that of what the page adds,
 * null if the service knows it.
 * @type {{renew: null | (() => Promise<void>), project: string | null}}
 */
export const session = { renew: null, project: null };

/**
 * @typedef {object} Options
 * @property {Record<string, any> | URLSearchParams} [query]
 * @property {AbortSignal} [signal]
 * @property {Record<string, string>} [headers]
 * @property {any} [body] sent as JSON unless it is a string, Blob or ArrayBuffer
 * @property {boolean} [keepalive] the request is sent even if the page is left
 * @property {boolean} [isTry] a 401 is thrown instead of asking for a sign-in
 */

/**
 * Sends a request. Returns a successful response; throws ApiError, Unreachable or AbortError.
 * @param {Options} options
 */
export async function raw(method, path, options = {}) {
  const url = withQuery(path, options.query);
  for (;;) {
    const response = await sent(method, url, options);
    if (response.ok || response.status === 304) return response;
    const error = new ApiError(response.status, await shownJSON(response).catch(() => ({})));
    if (error.status !== 401 || options.isTry || !session.renew) throw error;
    await session.renew();
    options.signal?.throwIfAborted();
  }
}

/** @param {string} method @param {string} url @param {Options} options @returns {Promise<Response>} */
async function sent(method, url, { body, headers = {}, signal, keepalive = false }) {
  /** @type {RequestInit & {headers: Record<string, string>}} */
  const init = {
    method,
    headers: { accept: "application/json", ...headers },
    cache: "no-store",
    credentials: "same-origin",
    signal,
    keepalive,
  };
  if (CHANGES.has(method)) init.headers["x-ipulse-page"] = "1"; // a form of another site cannot send it
  if (method === "POST" && session.project !== null) init.headers["ipulse-project"] = session.project;
  if (body !== undefined) {
    const isRaw =
      typeof body === "string" || body instanceof Blob || body instanceof ArrayBuffer || ArrayBuffer.isView(body);
    init.body = /** @type {BodyInit} */ (isRaw ? body : JSON.stringify(body));
    if (!init.headers["content-type"]) init.headers["content-type"] = "application/json";
  }
  try {
    return await fetch(address(url), init);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable();
  }
}

function withQuery(path, query) {
  if (!query) return path;
  const pairs =
    query instanceof URLSearchParams
      ? [...query]
      : Object.entries(query).flatMap(([name, value]) =>
          Array.isArray(value) ? value.map((one) => [name, one]) : [[name, value]],
        );
  if (path !== "/v1/jobs:suggest" && pairs.some(([name, value]) => name === "q" && DATE.test(value)))
    pairs.push(["time_zone", zone()]);
  const kept = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return kept.length ? `${path}?${new URLSearchParams(kept)}` : path;
}

async function json(method, path, options = {}) {
  const patience = AbortSignal.timeout(PATIENCE);
  const signal = options.signal ? AbortSignal.any([options.signal, patience]) : patience;
  try {
    const response = await raw(method, path, { ...options, signal });
    return response.status === 204 || response.headers.get("content-length") === "0" ? null : await shownJSON(response);
  } catch (error) {
    if (patience.aborted && !options.signal?.aborted) throw new Unreachable();
    throw error;
  }
}

export const api = {
  raw,
  /** Sends a file, however long that takes. @param {Blob} file @param {Options} [options] @returns {Promise<any>} */
  upload: async (path, file, options) => {
    const headers = { "content-type": "application/octet-stream" };
    return shownJSON(await raw("POST", path, { ...options, body: file, headers }));
  },
  /** @param {Options} [options] @returns {Promise<any>} */
  get: (path, options) => json("GET", path, options),
  /** @param {any} [body] @param {Options} [options] @returns {Promise<any>} */
  post: (path, body, options) => json("POST", path, { ...options, body }),
  /** @param {any} [body] @param {Options} [options] @returns {Promise<any>} */
  put: (path, body, options) => json("PUT", path, { ...options, body }),
  /** @param {any} [body] @param {Options} [options] @returns {Promise<any>} */
  patch: (path, body, options) => json("PATCH", path, { ...options, body }),
  /** @param {Options} [options] @returns {Promise<any>} */
  delete: (path, options) => json("DELETE", path, options),
};
