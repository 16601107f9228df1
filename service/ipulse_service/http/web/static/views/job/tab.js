// The base of a job's tabs.
import { LitElement, html, nothing } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { isOver } from "../../lib/format.js";
import { empty, problem, skeleton } from "../../parts/states.js";

/** A tab: renews itself when the job's store changes; `load` fetches what the tab needs in addition. */
export class Tab extends LitElement {
  static properties = {
    job: { attribute: false },
    store: { attribute: false },
    route: { attribute: false },
    loaded: { state: true },
    error: { state: true },
  };

  constructor() {
    super();
    /** @type {any} */
    this.job = null;
    /** @type {import("./store.js").JobStore | null} */
    this.store = null;
    /** @type {import("../../app/router.js").Route | undefined} */
    this.route = undefined;
    /** @type {any} undefined until it is loaded */
    this.loaded = undefined;
    this.error = null;
    this.redraw = () => this.requestUpdate();
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.leaving = new AbortController();
    this.watched?.addEventListener("change", this.redraw);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.leaving.abort();
    this.watched?.removeEventListener("change", this.redraw);
  }

  willUpdate(changed) {
    if (changed.has("store") && this.store !== this.watched) {
      this.watched?.removeEventListener("change", this.redraw);
      this.watched = this.store;
      this.watched?.addEventListener("change", this.redraw);
    }
    if (changed.has("job") && this.job && this.needsLoad(changed.get("job"))) this.renew();
  }

  /** Whether a change of the job makes the tab load again: at first, and when the job has ended. @param {any} before */
  needsLoad(before) {
    return !before || before.id !== this.job.id || isOver(before.state) !== isOver(this.job.state);
  }

  async renew() {
    try {
      this.loaded = await this.load(this.job, this.leaving.signal);
      this.error = null;
    } catch (error) {
      if (!this.leaving.signal.aborted) this.error = error;
    }
  }

  /** @param {any} _job @param {AbortSignal} _signal @returns {Promise<any>} */
  /** @param {any} _job @param {AbortSignal} _signal @returns {Promise<any>} */
  async load(_job, _signal) {
    return null;
  }

  /** Waiting, failure, or what `draw` returns. */
  render() {
    if (!this.job) return nothing;
    if (this.error && this.loaded === undefined) return problem(this.error, () => this.renew());
    if (this.loaded === undefined) return skeleton(4);
    try {
      return this.draw(this.loaded);
    } catch (error) {
      // a file of another version, or one that a person has written
      return problem(
        new Error(
          `A file of this job has another form than the page expects (${error.message}). The tab Files has it as it is.`,
        ),
      );
    }
  }

  /** @param {any} _loaded @returns {unknown} */
  draw(_loaded) {
    return nothing;
  }
}

/** The file of a role, null if the job has none. @param {string} id @param {string} role @param {AbortSignal} signal */
export async function artifactOf(id, role, signal) {
  const { artifacts } = await api.get(`/v1/jobs/${id}/artifacts`, { signal });
  return artifacts.find((file) => file.role === role) ?? null;
}

/** The JSON of the file of a role, null if the job has none. */
export async function documentOf(id, role, signal) {
  const file = await artifactOf(id, role, signal);
  return file && api.get(contentOf(id, file), { signal });
}

export const contentOf = (id, file) => `/v1/jobs/${id}/artifacts/${file.id}/content`;

/** The text of a tab while its file is not written yet. @param {any} job @param {string} what */
export function notYet(job, what) {
  return empty({
    title: isOver(job.state) ? `This job left no ${what}` : `No ${what} yet`,
    text: isOver(job.state) ? "It ended before its report." : "It is written when the training ends.",
  });
}

export { html, nothing };
