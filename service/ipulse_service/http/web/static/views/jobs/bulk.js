// Actions on all jobs of a search: the service does them, not one request a job.
import { html } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { isOver, phaseOf, plain } from "../../lib/format.js";

/** The states that allow an action about which a person is asked. @type {Record<string, (state: string) => boolean>} */
const ALLOWED = {
  delete: isOver,
  cancel: (state) => !isOver(state) && state !== "cancelling",
  finish: (state) => phaseOf(state) !== null,
};

/** A request without a search must ask for every job. */
const filters = (q, more) => (q ? { q, ...more } : { all: true, ...more });

/**
 * Counts the jobs of a search that an action would change.
 * @param {string} q
 * @param {string} verb
 * @param {any} [body]
 */
export async function count(q, verb, body) {
  const counted = await api.post(`/v1/jobs:${verb}`, body, { query: filters(q, { dry_run: true }) });
  const states = Object.entries(counted.by_state).filter(([state]) => ALLOWED[verb]?.(state) ?? true);
  return { ...counted, changed: states.reduce((sum, [, jobs]) => sum + jobs, 0) };
}

/**
 * Changes the jobs that were counted, and none that was submitted since. Deletes none that has ended since.
 * @param {string} q
 * @param {string} verb
 * @param {any} counted the answer of `count`
 * @param {any} [body]
 * @param {{keepalive?: boolean}} [options]
 * @returns {Promise<number>} how many were changed
 */
export async function changeAll(q, verb, counted, body, options = {}) {
  const wanted = verb === "delete" ? `${q ? `(${q}) ` : ""}finished<${counted.as_of}` : q;
  let changed = 0;
  for (;;) {
    // A request works for a few seconds; the next one continues.
    const answer = await api.post(`/v1/jobs:${verb}`, body, {
      ...options,
      query: filters(wanted, { created_before: counted.as_of }),
    });
    changed += answer.changed;
    if (!answer.remaining || !answer.changed) return changed;
  }
}

/** What a question says about the counted jobs. @param {any} counted */
export function countedText({ by_state: states, matched, changed }) {
  return html`<ul>${Object.entries(states).map(([state, jobs]) => html`<li>${jobs.toLocaleString("en")} ${plain(state)}</li>`)}</ul>
    ${changed < matched ? html`<p>${changed.toLocaleString("en")} of ${matched.toLocaleString("en")} change; the others do not allow it.</p>` : ""}`;
}
