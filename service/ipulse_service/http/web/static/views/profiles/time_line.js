// The time line of an attempt: its trace is read when the part is first seen.
import "./trace.js";
import { LitElement, html } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { problem, skeleton } from "../../parts/states.js";
import { ofRunner } from "./trace_events.js";

class TimeLine extends LitElement {
  static properties = {
    job: { attribute: false },
    file: { attribute: false },
    trace: { state: true },
    error: { state: true },
    find: { state: true },
  };

  constructor() {
    super();
    this.job = null;
    this.file = null; // the artifact trace.json.gz
    this.trace = undefined;
    this.error = null;
    this.find = "";
  }

  createRenderRoot() {
    return this;
  }

  willUpdate(changed) {
    if (changed.has("file") && this.file && this.file.id !== changed.get("file")?.id) this.load();
  }

  get address() {
    return `/v1/jobs/${this.job.id}/artifacts/${this.file.id}/content`;
  }

  async load() {
    try {
      const response = await api.raw("GET", this.address);
      const text = await new Response(response.body.pipeThrough(new DecompressionStream("gzip"))).text();
      this.trace = ofRunner(JSON.parse(text));
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  }

  render() {
    if (this.error) return problem(this.error, () => this.load());
    if (this.trace === undefined) return skeleton(3);
    return html`${
      this.trace
        ? html`<ip-trace .trace=${this.trace} .name=${"Time line of the attempt"} .find=${this.find} @choose=${(
            event,
          ) => {
            this.find = event.detail ?? "";
          }}></ip-trace>`
        : html`<p class="soft">The trace has no events.</p>`
    }
      <p class="soft small">The first 2,000 training steps are shown in detail, later ones as parts of their epoch.
        <a href=${this.address} download=${this.file.name}>${this.file.name}</a> opens in <code>ui.perfetto.dev</code>, too.</p>`;
  }
}
customElements.define("ip-time-line", TimeLine);
