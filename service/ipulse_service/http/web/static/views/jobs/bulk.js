// Actions on all jobs of a search: the service does them, not one request a job.
import { html } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { plain } from "../../lib/format.js";

/** A request without a search must ask for every job. */
const filters = (q, more) => (q ? { q, ...more } : { all: true, ...more });

/**
 * Counts the jobs of a search, and those that an action would change (`changeable`).
 * @param {string} q
 * @param {string} verb
 * @param {any} [body]
 */
export const count = (q, verb, body) => api.post(`/v1/jobs:${verb}`, body, { query: filters(q, { dry_run: true }) });

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
export function countedText({ by_state: states, matched, changeable }) {
  return html`<ul>${Object.entries(states).map(([state, jobs]) => html`<li>${jobs.toLocaleString("en")} ${plain(state)}</li>`)}</ul>
    ${changeable < matched ? html`<p>${changeable.toLocaleString("en")} of ${matched.toLocaleString("en")} change; the others do not allow it.</p>` : ""}`;
}
