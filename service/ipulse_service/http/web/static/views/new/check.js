// Checks the text of a spec: its syntax here, everything else by the service.
import { api } from "../../lib/api.js";

/**
 * @typedef {{from: number, to: number, line?: number, message: string, severity?: string}} Problem
 * @typedef {{problems: Problem[], plan: any, value: any, error?: any}} Found `value`: the spec if it is valid
 */

/**
 * @param {any} YAML
 * @param {string} text
 * @param {{priority: number | null, run_seconds: number | null}} options
 * @param {AbortSignal} signal
 * @returns {Promise<Found>}
 */
export async function check(YAML, text, options, signal) {
  const lines = new YAML.LineCounter();
  const document = YAML.parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const problem = (from, to, message) => ({
    from,
    to: Math.max(to, from + 1),
    line: lines.linePos(from).line,
    message,
  });
  if (document.errors.length) {
    return {
      problems: document.errors.map(({ pos: [from, to], message }) => problem(from, to ?? from, message)),
      plan: null,
      value: null,
    };
  }
  const value = document.toJS({ maxAliasCount: 100 });
  if (value === null || typeof value !== "object")
    return { problems: [problem(0, 1, "A spec is a mapping: it begins with `version: 2`.")], plan: null, value: null };
  try {
    return { problems: [], plan: await api.post("/v1/jobs:plan", value, { query: options, signal }), value };
  } catch (error) {
    if (error.status !== 422) throw error;
    const problems = error.errors.map(({ pointer = "", detail, code }) =>
      problem(...placeOf(YAML, document, pointer, code === "unknown_field"), detail),
    );
    return { problems: problems.length ? problems : [problem(0, 1, error.message)], plan: null, value: null };
  }
}

/**
 * The range of what a JSON pointer names: its value; the key if the field is unknown or holds a collection; the
 * parent's key if it is missing.
 * @param {any} YAML @param {any} document @param {string} pointer @param {boolean} [isKey] @returns {[number, number]}
 */
export function placeOf(YAML, document, pointer, isKey = false) {
  const keys = pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  let node = document.contents;
  let place = [0, 1];
  keys.forEach((key, depth) => {
    const pair = YAML.isMap(node) ? node.items.find((one) => String(one.key?.value ?? one.key) === key) : null;
    if (pair?.key?.range) place = pair.key.range;
    node = pair ? pair.value : YAML.isSeq(node) ? node.items[Number(key)] : null;
    const isLast = depth === keys.length - 1;
    if (node?.range && (YAML.isScalar(node) ? !(isLast && isKey) : !pair))
      place = [node.range[0], YAML.isScalar(node) ? node.range[1] : node.range[0] + 1];
  });
  return [place[0], place[1]];
}
