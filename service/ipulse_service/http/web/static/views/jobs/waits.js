// The positions and expected starts of the waiting rows; the list itself does not have them.
import { api } from "../../lib/api.js";

const WAITS = new Set(["queued", "retry_wait", "blocked"]);
const MOST = 10; // rows; those that begin next, as each is a request
const FRESH = 10_000; // ms

/** What the waiting jobs of a page wait for. */
export class Waits {
  /** @param {() => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    /** @type {Map<string, any>} */
    this.found = new Map();
    this.key = "";
    this.until = 0;
  }

  /** Asks for rows that are new, and for all again from time to time. */
  async fetch(jobs, signal) {
    // The list has the latest first, also among jobs of one submission.
    const waiting = jobs.filter((job) => WAITS.has(job.state)).reverse().sort((a, b) => a.created_at.localeCompare(b.created_at)).slice(0, MOST);
    const key = waiting.map((job) => job.id).join();
    if (key === this.key && Date.now() < this.until) return;
    this.key = key;
    this.until = Date.now() + FRESH;
    const details = await Promise.all(waiting.map((job) => api.get(`/v1/jobs/${job.id}`, { signal }).catch(() => null)));
    if (key !== this.key) return; // a later request answers
    this.found = new Map(details.filter((job) => job?.waiting_on).map((job) => [job.id, job.waiting_on]));
    this.onChange();
  }

  /** @param {{id: string, state: string}} job */
  of(job) { return WAITS.has(job.state) ? this.found.get(job.id) : undefined; }
}
