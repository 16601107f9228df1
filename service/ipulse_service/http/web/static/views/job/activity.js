// The present activity of a job, and how long it has lasted.
import { LitElement, nothing } from "../../vendor.js";
import { duration, phaseOf } from "../../lib/format.js";

class Activity extends LitElement {
  static properties = { job: { attribute: false }, store: { attribute: false } };

  constructor() {
    super();
    this.job = null;
    this.store = null;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.timer = setInterval(() => document.hidden || this.requestUpdate(), 1000);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.timer);
  }

  render() {
    const { job, store } = this;
    if (!job) return nothing;
    if (job.state === "queued") return `queued for ${since(store?.states.at(-1)?.time ?? job.created_at)}`;
    const phase = phaseOf(job.state);
    const said = store?.progress;
    if (!phase || said?.phase !== phase || (phase === "run" && job.progress)) return nothing;
    const left = said.remaining_seconds
      ? said.remaining_seconds - (Date.now() - Date.parse(said.time)) / 1000
      : undefined;
    return [
      said.message,
      said.steps_total && `${said.steps_done} of ${said.steps_total} done`,
      left !== undefined && (left >= 0.05 ? `about ${duration(left)} left` : "longer than expected"),
      `for ${since(said.time)}`,
    ]
      .filter(Boolean)
      .join(" · ");
  }
}

const since = (time) => duration(Math.max(0, Math.floor((Date.now() - Date.parse(time)) / 1000)));

customElements.define("ip-job-activity", Activity);
