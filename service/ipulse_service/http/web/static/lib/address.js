// Where the page is served: at the root of its host, or below a path that a proxy adds. Paths of the page and of the
// API are written as from the root everywhere; this module alone knows the rest.

const OWN = /\/web\/[^/]+\/static\/lib\/address\.js$/;

/** The path before all of ours, such as "/user/ada/proxy/8470"; "" at the root. */
export const prefix = new URL(import.meta.url).pathname.replace(OWN, "");

const isPath = (text) => typeof text === "string" && /^\/(?!\/)/.test(text);

/** The address of a path here; what is no path stays as it is. */
export const address = (path) => (isPath(path) ? prefix + path : path);

/** The path without what comes before ours. @param {string} pathname */
export const pathHere = (pathname) => (pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname);

const LINK = /(\s(?:href|src|action)=["']?)\/(?!\/)/g;
const AT_LINK = /\s(?:href|src|action)=["']?$/;
const known = new WeakMap();

/**
 * The same tag of templates, whose links lead below the prefix.
 * @template {(strings: TemplateStringsArray, ...values: unknown[]) => unknown} Tag
 * @param {Tag} tag
 * @returns {Tag}
 */
export function prefixed(tag) {
  if (!prefix) return tag;
  const moved = (strings) => {
    if (!known.has(strings)) {
      const texts = strings.map((text) => text.replaceAll(LINK, `$1${prefix}/`));
      known.set(strings, Object.assign(texts, { raw: texts }));
    }
    return known.get(strings);
  };
  return /** @type {Tag} */ (
    (strings, ...values) =>
      tag(moved(strings), ...values.map((value, at) => (AT_LINK.test(strings[at]) ? address(value) : value)))
  );
}
