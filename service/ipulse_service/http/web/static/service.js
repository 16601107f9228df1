// The HTTP API. The token is sent in the Authorization header and nowhere else.

const KEPT = "ipulse-token"; // in the storage of this tab, until the tab is closed

export const token = {
  get: () => sessionStorage.getItem(KEPT) ?? "",
  set: (text) => sessionStorage.setItem(KEPT, text),
  forget: () => sessionStorage.removeItem(KEPT),
};

const LONGEST_ANSWER = 30_000; // ms; a slower response counts as a lost connection

/** An error response: `message`, `status`, `errors` with places, `requestId`; `isFinal` if a retry is useless. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the service answered with HTTP ${status}`);
    this.status = status;
    this.isFinal = status < 500 && status !== 429;
    this.errors = problem.errors ?? [];
    this.requestId = problem.request_id;
  }
}

export class Unreachable extends Error {
  constructor() {
    super("The service does not answer. Is it running?");
  }
}

/** Returns a successful response. Throws Refused, Unreachable or AbortError. */
export async function request(path, options = {}) {
  const headers = { authorization: `Bearer ${token.get()}`, ...options.headers };
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store", redirect: "follow" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable();
  }
  if (response.ok) return response;
  const refused = new Refused(response.status, await response.json().catch(() => ({})));
  const isKept = headers.authorization === `Bearer ${token.get()}`; // else it was a try at the sign-in, or has been replaced
  if (refused.status === 401 && isKept) window.dispatchEvent(new CustomEvent("not-authenticated"));
  throw refused;
}

export async function get(path, signal) {
  const patience = AbortSignal.timeout(LONGEST_ANSWER);
  return (await request(path, { signal: AbortSignal.any([signal, patience]) })).json();
}

export async function post(path, body, headers = {}) {
  const options = { method: "POST", headers };
  if (body !== undefined) {
    options.body = typeof body === "string" ? body : JSON.stringify(body);
    options.headers = { "content-type": "application/json", ...headers };
  }
  return (await request(path, options)).json();
}
