// The resolved settings of two jobs, changed lines only.
import { isolated } from "../../lib/format.js";
import { LitElement, html, nothing } from "../../vendor.js";
import { isNarrow } from "../../lib/narrow.js";
import { api } from "../../lib/api.js";

/** A spec as lines `path: value`, with paths as `--set` takes them. @returns {Map<string, string>} */
export function flat(value, path = "", lines = new Map()) {
  if (value !== null && typeof value === "object" && Object.keys(value).length) {
    for (const [name, item] of Object.entries(value))
      flat(item, Array.isArray(value) ? `${path}[${name}]` : path ? `${path}.${name}` : name, lines);
  } else lines.set(path, JSON.stringify(value));
  return lines;
}

const ROWS = 100; // at first
const CARDS = 10; // on a phone

class Configs extends LitElement {
  static properties = {
    jobs: { attribute: false },
    left: { state: true },
    right: { state: true },
    isAll: { state: true },
    isWhole: { state: true },
    specs: { state: true },
    problem: { state: true },
  };

  constructor() {
    super();
    /** @type {{id: string, name: string}[]} */
    this.jobs = [];
    this.left = ""; // ids
    this.right = "";
    this.specs = new Map();
    this.isAll = false;
    this.isWhole = false;
    this.problem = "";
  }

  createRenderRoot() {
    return this;
  }

  willUpdate() {
    const ids = this.jobs.map((job) => job.id);
    if (!ids.includes(this.left)) [this.left] = ids;
    if (!ids.includes(this.right) || this.right === this.left) this.right = ids.find((id) => id !== this.left);
    for (const id of [this.left, this.right]) if (id && !this.specs.has(id)) this.fetch(id);
  }

  async fetch(id) {
    this.specs.set(id, null);
    try {
      this.specs.set(id, flat((await api.get(`/v1/jobs/${id}`)).spec));
    } catch (error) {
      this.problem = error.message;
    }
    this.requestUpdate();
  }

  select(side, words) {
    return html`<label class="inline">${words} <select @change=${(event) => {
      this[side] = event.target.value;
    }}>
      ${this.jobs.slice(0, 200).map((job) => html`<option value=${job.id} ?selected=${job.id === this[side]}>${isolated(job.name) || "unnamed"} ${job.id.slice(4, 8)}</option>`)}</select></label>`;
  }

  render() {
    if (this.jobs.length < 2) return nothing;
    const [left, right] = [this.specs.get(this.left), this.specs.get(this.right)];
    const paths =
      left && right
        ? [...new Set([...left.keys(), ...right.keys()])].filter(
            (path) => this.isAll || left.get(path) !== right.get(path),
          )
        : [];
    const rows = this.isWhole ? paths.length : isNarrow() ? CARDS : ROWS;
    return html`<section aria-label="Configurations"><div class="bar"><h2>Configurations</h2>${this.select("left", "from")}${this.select("right", "to")}
        <label class="inline"><input type="checkbox" .checked=${this.isAll} @change=${(event) => {
          this.isAll = event.target.checked;
        }}>equal lines, too</label></div>
      ${this.problem ? html`<p class="soft">${this.problem}</p>` : nothing}
      ${left && right && !paths.length ? html`<p class="soft">These two jobs have equal settings.</p>` : nothing}
      ${
        paths.length
          ? html`<div class="grid-box diff" tabindex="0" role="region" aria-label="Changed settings"><table class="grid"><caption>Changed settings</caption>
        <thead><tr><th scope="col">Setting</th><th scope="col">from</th><th scope="col">to</th></tr></thead>
        <tbody>${paths.slice(0, rows).map((path) => {
          const [before, after] = [left.get(path), right.get(path)];
          return html`<tr><th scope="row"><code>${path}</code></th><td class=${before === after ? "" : "removed"} data-label="from"><code>${before ?? "—"}</code></td><td class=${before === after ? "" : "added"} data-label="to"><code>${after ?? "—"}</code></td></tr>`;
        })}</tbody></table></div>`
          : nothing
      }
      ${
        paths.length > rows
          ? html`<p><button type="button" @click=${() => {
              this.isWhole = true;
            }}>Show all ${paths.length} lines</button></p>`
          : nothing
      }</section>`;
  }
}
customElements.define("ip-configs", Configs);
