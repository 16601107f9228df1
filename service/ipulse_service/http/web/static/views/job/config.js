// The spec of a job as YAML, also as it was submitted.
import { updateQuery } from "../../app/router.js";
import { maySubmit } from "../../app/session.js";
import { api } from "../../lib/api.js";
import { copy } from "../../parts/copy.js";
import { Tab, html, nothing } from "./tab.js";

class Config extends Tab {
  static properties = { ...Tab.properties, submitted: { state: true } };

  constructor() {
    super();
    /** @type {{id: string, text?: string, missing?: string} | null} of one job, once it is asked for */
    this.submitted = null;
  }

  get view() {
    return this.route?.query.get("view") ?? "";
  }

  updated() {
    const { id } = this.job ?? {};
    if (id && this.view === "submitted" && this.submitted?.id !== id) this.fetchSubmitted(id);
  }

  /** Reads the text that was submitted; it is not kept for every job. @param {string} id */
  async fetchSubmitted(id) {
    this.submitted = { id };
    try {
      this.submitted = { id, text: await textOf(id, "submitted", this.leaving.signal) };
    } catch (error) {
      if (!this.leaving.signal.aborted) this.submitted = { id, missing: error.message };
    }
  }

  async load(job, signal) {
    const [brief, all] = await Promise.all(["brief", "version_2"].map((form) => textOf(job.id, form, signal)));
    return { brief, all };
  }

  draw({ brief, all }) {
    const { job } = this;
    const { view } = this;
    const { text: submitted, missing } = this.submitted?.id === job.id ? this.submitted : {};
    const text = view === "submitted" ? (submitted ?? "") : view === "all" ? all : brief;
    const choice = (words, name) =>
      html`<button type="button" aria-pressed=${String(view === name)} @click=${() => updateQuery({ view: name || null })}>${words}</button>`;
    return html`
      <div class="bar">
        <span class="buttons" role="group" aria-label="Which settings">${choice("Differs from defaults", "")}${choice("All settings", "all")}${choice("As submitted", "submitted")}</span>
        <button type="button" @click=${() => copy(text)}>Copy</button>
        ${maySubmit() ? html`<a class="button" href="/new?from=${job.id}">Clone</a>` : nothing}
      </div>
      ${view === "submitted" && missing ? html`<p role="status">${missing}</p>` : html`<pre class="card yaml" tabindex="0" aria-label="Spec">${text.split("\n").map((line) => html`${coloured(line)}\n`)}</pre>`}
      <p class="soft small">SHA-256 of the spec with all defaults: <code>${job.spec_sha256}</code></p>`;
  }
}

/** The spec of a job in a form. @param {string} id @param {string} form @param {AbortSignal} signal */
const textOf = async (id, form, signal) => (await api.get(`/v1/jobs/${id}/spec`, { query: { form }, signal })).text;

/** A line of YAML with its key in another colour. */
function coloured(line) {
  const match = /^(\s*(?:- )?)([\w.-]+)(:)(.*)$/.exec(line);
  return match ? html`${match[1]}<span class="key">${match[2]}</span>${match[3]}${match[4]}` : line || nothing;
}
customElements.define("ip-job-config", Config);
