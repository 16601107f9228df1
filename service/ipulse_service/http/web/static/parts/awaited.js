// The job that must end, or compile, before another one is queued.
import { html, nothing } from "../vendor.js";
import { isolated } from "../lib/format.js";

const REASONS = new Set(["dependency", "compile"]);

/** Whether a job waits for another job rather than for an agent. @param {any} waiting `waiting_on` of a job */
export const waitsForJob = (waiting) => REASONS.has(waiting.reason) && Boolean(waiting.holder);

/** A link to that job. @param {any} waiting `waiting_on` of a job */
export function awaited(waiting) {
  if (!waitsForJob(waiting)) return nothing;
  const { holder, holder_name: name } = waiting;
  return html`<a href="/jobs/${holder}">${name ? isolated(name) : "unnamed"}</a> <span class="soft id">${holder.slice(4, 12)}</span>`;
}
