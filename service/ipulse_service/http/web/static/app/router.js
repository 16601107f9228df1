// The address of the page: which view it names, and how it changes.
import { address, pathHere, prefix } from "../lib/address.js";
import { routes } from "./routes.js";

/**
 * @typedef {object} Route
 * @property {string} path
 * @property {Record<string, string | undefined>} params the named parts of the pattern
 * @property {URLSearchParams} query
 * @property {import("./routes.js").RouteEntry} entry
 */

const listeners = new Set();

/** @param {string} pattern "/jobs/:id/:tab?" */
function compiled(pattern) {
  const parts = pattern
    .split("/")
    .slice(1)
    .map((part) => {
      if (!part.startsWith(":")) return `/${part}`;
      const isOptional = part.endsWith("?");
      const group = `/(?<${part.slice(1, isOptional ? -1 : undefined)}>[^/]+)`;
      return isOptional ? `(?:${group})?` : group;
    });
  return new RegExp(`^${parts.join("")}/?$`);
}

const table = routes.map((entry) => ({ entry, expression: compiled(entry.pattern) }));

/** The route of the present address. @returns {Route} */
export function current() {
  const { search } = location;
  const pathname = pathHere(location.pathname);
  const query = new URLSearchParams(search);
  for (const { entry, expression } of table) {
    const match = expression.exec(pathname);
    if (match) {
      const params = Object.fromEntries(
        Object.entries(match.groups ?? {}).map(([name, text]) => [name, text && decoded(text)]),
      );
      return { path: pathname, params, query, entry };
    }
  }
  return { path: pathname, params: {}, query, entry: routes.at(-1) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Calls `listener(route, how)` now and after each change; `how` is "push", "replace" or "pop". */
export function onRoute(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function announce(how) {
  const route = current();
  for (const listener of listeners) listener(route, how);
}

/** Goes to another address of the page: a path of it, or a whole URL. */
export function navigate(url, { replace = false } = {}) {
  let target = new URL(address(url), location.href);
  target = new URL(address(todays(target.hash)) ?? target, location.href);
  if (target.href === location.href && !replace) return;
  if (replace) {
    history.replaceState(history.state, "", target);
  } else {
    history.replaceState({ ...history.state, y: scrollY }, "");
    history.pushState({}, "", target);
  }
  announce(replace ? "replace" : "push");
}

/** Changes parameters of the query; null and "" remove one. The view stays. */
export function updateQuery(changes, { push = false } = {}) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  const text = readable(query);
  navigate(`${pathHere(location.pathname)}${text && `?${text}`}${location.hash}`, { replace: !push });
}

/** A query string in which the characters of searches stay legible. */
function readable(query) {
  return query
    .toString()
    .replaceAll("%3A", ":")
    .replaceAll("%2C", ",")
    .replaceAll("%2F", "/")
    .replaceAll("%28", "(")
    .replaceAll("%29", ")");
}

/** Links of older versions (`#/jobs/ID`) lead to the same view. */
export function redirectOldLinks() {
  const today = todays(location.hash);
  if (today) history.replaceState(history.state, "", address(today));
}

/** The address of a view of older versions today, null for any other fragment. */
function todays(hash) {
  const match = /^#(\/[^?]*)(\?.*)?$/.exec(hash);
  return match && ({ "/": "/jobs", "/submit": "/new" }[match[1]] ?? match[1]) + (match[2] ?? "");
}

function isOurs(link, event) {
  return (
    link &&
    !event.defaultPrevented &&
    event.button === 0 &&
    !event.metaKey &&
    !event.ctrlKey &&
    !event.shiftKey &&
    !event.altKey &&
    link.origin === location.origin &&
    !link.target &&
    !link.hasAttribute("download") &&
    link.pathname.startsWith(`${prefix}/`) &&
    !/^\/(v1|web|docs|redoc|openapi\.json)(\/|$)/.test(pathHere(link.pathname)) &&
    !(
      link.hash &&
      link.pathname === location.pathname &&
      link.search === location.search &&
      !link.hash.startsWith("#/")
    )
  );
}

export function start() {
  history.scrollRestoration = "manual";
  document.addEventListener("click", (event) => {
    const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement);
    if (!isOurs(link, event)) return;
    event.preventDefault();
    navigate(link.href);
  });
  window.addEventListener("popstate", () => announce("pop"));
  window.addEventListener("hashchange", () => {
    if (!location.hash.startsWith("#/")) return;
    redirectOldLinks();
    announce("replace");
  });
  announce("replace");
}
