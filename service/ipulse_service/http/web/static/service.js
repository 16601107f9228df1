// The HTTP interface, as every other client uses it: the token goes with each request and nowhere else.

const KEPT = "ipulse-token"; // of this tab, until it is closed

export const token = {
  get: () => sessionStorage.getItem(KEPT) ?? "",
  set: (text) => sessionStorage.setItem(KEPT, text),
  forget: () => sessionStorage.removeItem(KEPT),
};

const LONGEST_ANSWER = 30_000; // ms; a connection that is silent for longer is dead, whatever the browser believes

/** An answer that is an error: `message`, `status`, `errors` with places, `requestId`; `isFinal` if it would come again. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the service answered ${status}`);
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

/** The response, when it is a good one. Throws Refused, Unreachable, or AbortError. */
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
  const isKept = headers.authorization === `Bearer ${token.get()}`; // else it was tried at the sign-in, or is left already
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
