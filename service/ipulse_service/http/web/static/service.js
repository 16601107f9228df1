// The HTTP API for the views that are not written on the frame yet.
import { api, raw } from "./lib/api.js";

export { ApiError as Refused, Unreachable } from "./lib/api.js";

/** Returns a successful response. Throws Refused, Unreachable or AbortError. */
export function request(path, { method = "GET", ...options } = {}) {
  return raw(method, path, options);
}

export const get = (path, signal) => api.get(path, { signal });
export const post = (path, body, headers = {}) => api.post(path, body, { headers });
