// The files of a job, with previews.
import { api } from "../../lib/api.js";
import { bytes, isOver, number } from "../../lib/format.js";
import { copyButton } from "../../parts/copy.js";
import { problem, skeleton } from "../../parts/states.js";
import { arraysOf } from "../../lib/npz.js";
import { shownJSON } from "../../lib/shown.js";
import { networkPreview } from "./network_preview.js";
import { openInPerfetto } from "./perfetto.js";
import { Tab, contentOf, html, notYet, nothing } from "./tab.js";

const APART = 300; // ms between downloads; browsers drop those that begin at once
const MOST_TEXT = 200_000; // characters
const MOST_BYTES = 64 * 2 ** 20; // that are fetched for a preview

class Files extends Tab {
  static properties = { ...Tab.properties, open: { state: true }, preview: { state: true }, isSaving: { state: true } };

  constructor() {
    super();
    this.open = null;
    this.preview = null;
    this.isSaving = false;
  }

  /** Downloads the files one after another; the browser may ask once whether it may. */
  async saveAll(files) {
    this.isSaving = true;
    for (const file of files) {
      if (this.leaving.signal.aborted) break;
      Object.assign(document.createElement("a"), { href: contentOf(this.job.id, file), download: file.name }).click();
      await new Promise((resolve) => {
        setTimeout(resolve, APART);
      });
    }
    this.isSaving = false;
  }

  async load(job, signal) {
    return api.get(`/v1/jobs/${job.id}/artifacts`, { signal });
  }

  draw({ artifacts, complete }) {
    if (!artifacts.length) return notYet(this.job, "file");
    return html`
      ${complete || !isOver(this.job.state) ? nothing : html`<p class="note">The job ended before all its files were written.</p>`}
      <div class="grid-box"><table class="grid files"><caption>Files</caption>
        <thead><tr><th scope="col">Name</th><th scope="col">Role</th><th scope="col" class="number">Size</th><th scope="col">SHA-256</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
        <tbody>${artifacts.map((file) => this.row(file))}</tbody></table></div>
      <p class="buttons"><button type="button" ?disabled=${this.isSaving} @click=${() => this.saveAll(artifacts)}>Download all (${artifacts.length}, ${bytes(artifacts.reduce((sum, file) => sum + file.size, 0))})</button></p>
      <p class="soft small">On the command line: <code>ipulse download ${this.job.id}</code>${copyButton(`ipulse download ${this.job.id}`, "Copy the command")}</p>`;
  }

  row(file) {
    const isOpen = this.open === file.id;
    const kind = kindOf(file);
    return html`<tr>
      <th scope="row" data-label="Name">${file.name}</th>
      <td data-label="Role" class="soft">${file.role.replaceAll("_", " ")}</td>
      <td data-label="Size" class="number">${bytes(file.size)}</td>
      <td data-label="SHA-256"><code title=${file.sha256}>${file.sha256.slice(0, 12)}</code>${copyButton(file.sha256, "Copy the digest")}</td>
      <td><span class="buttons end">
        ${
          file.role === "trace"
            ? html`<button type="button" @click=${() => this.toPerfetto(file)}>Perfetto</button><a class="button" href="/jobs/${this.job.id}/profile?part=timeline">Open</a>`
            : file.role === "report"
              ? html`<a class="button" href="/jobs/${this.job.id}/report">Open</a>`
              : kind && file.size <= MOST_BYTES
                ? html`<button type="button" aria-expanded=${String(isOpen)} @click=${() => this.toggle(file, kind)}>Preview</button>`
                : nothing
        }
        <a class="button" href=${contentOf(this.job.id, file)} download=${file.name} aria-label="Download ${file.name}">Download</a></span></td>
    </tr>
    ${isOpen ? html`<tr class="preview"><td colspan="5">${this.preview ?? skeleton(2)}</td></tr>` : nothing}`;
  }

  toPerfetto(file) {
    return openInPerfetto(this.job.name || this.job.id, async () => (await this.content(file)).arrayBuffer());
  }

  content(file) {
    return api.raw("GET", contentOf(this.job.id, file), { headers: { accept: "*/*" }, signal: this.leaving.signal });
  }

  async toggle(file, kind) {
    this.preview = null;
    this.open = this.open === file.id ? null : file.id;
    if (!this.open) return;
    try {
      const drawn =
        kind === "nir"
          ? networkPreview(
              await api.get(`/v1/jobs/${this.job.id}/artifacts/${file.id}/network`, { signal: this.leaving.signal }),
            )
          : await previews[kind](await this.content(file));
      if (this.open === file.id) this.preview = drawn;
    } catch (error) {
      if (!this.leaving.signal.aborted) this.preview = problem(error);
    }
  }
}

function kindOf({ name, media_type: type }) {
  if (name.endsWith(".npz")) return "npz";
  if (name.endsWith(".json")) return "json";
  if (name.endsWith(".nir")) return "nir";
  if (name.endsWith(".gz")) return "gzip";
  return /^text\/|ndjson|json/.test(type) ? "text" : null;
}

const plainText = (text) => html`<pre class="preview-text" tabindex="0">${text.slice(0, MOST_TEXT)}</pre>
  ${text.length > MOST_TEXT ? html`<p class="soft small">The first ${MOST_TEXT.toLocaleString("en")} of ${text.length.toLocaleString("en")} characters.</p>` : nothing}`;

const previews = {
  text: async (response) => plainText(await response.text()),
  json: async (response) => html`<div class="tree">${tree(await shownJSON(response), 0)}</div>`,
  gzip: async (response) =>
    plainText(await new Response(response.body.pipeThrough(new DecompressionStream("gzip"))).text()),
  npz: async (response) => {
    const arrays = await arraysOf(await response.arrayBuffer());
    return html`<table class="grid"><caption>Arrays</caption><thead><tr><th scope="col">Array</th><th scope="col">Type</th><th scope="col">Shape</th>
        <th scope="col" class="number">Minimum</th><th scope="col" class="number">Mean</th><th scope="col" class="number">Maximum</th></tr></thead>
      <tbody>${arrays.map(
        (
          one,
        ) => html`<tr><th scope="row" data-label="Array"><code>${one.name}</code></th><td data-label="Type">${one.dtype}</td>
        <td data-label="Shape">${one.why ?? (one.shape.join(" × ") || "one value")}</td>
        ${["low", "mean", "high"].map((key) => html`<td class="number" data-label=${key}>${one[key] === undefined ? "" : number(one[key])}</td>`)}</tr>`,
      )}</tbody></table>`;
  },
};

const MOST_ITEMS = 100;

/** A value of JSON as nested details. */
function tree(value, depth, name = null) {
  const key = name === null ? nothing : html`<span class="key">${name}</span>: `;
  if (value === null || typeof value !== "object")
    return html`<div>${key}<span class=${typeof value}>${JSON.stringify(value)}</span></div>`;
  const items = Object.entries(value);
  const isList = Array.isArray(value);
  if (isList && items.every(([, one]) => typeof one !== "object") && items.length <= 12)
    return html`<div>${key}${JSON.stringify(value)}</div>`;
  const words = isList ? `${items.length} items` : `${items.length} fields`;
  return html`<details ?open=${depth < 1}><summary>${key}<span class="soft">${words}</span></summary>
    ${items.slice(0, MOST_ITEMS).map(([inner, one]) => tree(one, depth + 1, isList ? `[${inner}]` : inner))}
    ${items.length > MOST_ITEMS ? html`<div class="soft">${items.length - MOST_ITEMS} more</div>` : nothing}</details>`;
}

customElements.define("ip-job-files", Files);
