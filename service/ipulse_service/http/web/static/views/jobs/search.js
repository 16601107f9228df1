// The search field: suggestions of the service, and its error underlined at its place.
import { LitElement, html, ifDefined, live, nothing } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { icon } from "../../parts/icon.js";
import { said } from "../../parts/said.js";

const PAUSE = 400; // ms without a key before the search begins
const SUGGEST_AFTER = 120; // ms

class Search extends LitElement {
  static properties = {
    value: {},
    error: { attribute: false },
    text: { state: true },
    items: { state: true },
    chosen: { state: true },
    isOpen: { state: true },
  };

  constructor() {
    super();
    this.value = ""; // what is searched for
    this.text = ""; // what is typed
    this.error = null;
    /** @type {{text: string, label: string, jobs: number | null, about: string}[]} */
    this.items = [];
    this.span = [0, 0];
    this.chosen = -1;
    this.isOpen = false;
  }

  createRenderRoot() {
    return this;
  }

  get field() {
    return /** @type {HTMLInputElement} */ (this.querySelector("input"));
  }

  willUpdate(changed) {
    if (changed.has("value") && this.value !== this.text && document.activeElement !== this.querySelector("input"))
      this.text = this.value;
  }

  typed() {
    this.text = this.field.value;
    this.chosen = -1;
    clearTimeout(this.searching);
    this.searching = setTimeout(() => this.search(), PAUSE);
    this.suggest();
  }

  search() {
    clearTimeout(this.searching);
    const text = this.text.trim();
    if (text !== this.value) this.dispatchEvent(new CustomEvent("query", { detail: text }));
  }

  /** Asks what may stand at the cursor. */
  suggest() {
    clearTimeout(this.asking);
    this.asking = setTimeout(async () => {
      const query = { q: this.text, at: [...this.text.slice(0, this.field.selectionStart)].length };
      try {
        const { start, end, items } = await api.get("/v1/jobs:suggest", { query: { ...query, q: this.text || " " } });
        if (this.field !== document.activeElement) return;
        this.span = [start, end];
        this.items = items;
        this.isOpen = items.length > 0;
      } catch {
        this.isOpen = false;
      }
    }, SUGGEST_AFTER);
  }

  accept(item) {
    const points = [...this.text];
    const before = points.slice(0, this.span[0]).join("") + item.text;
    const after = points.slice(this.span[1]).join("");
    const isWhole = !/[:=<>]$/.test(item.text);
    this.text = before + (isWhole && !after ? " " : "") + after;
    this.isOpen = false;
    this.chosen = -1;
    this.updateComplete.then(() => {
      this.field.focus();
      const at = before.length + (isWhole && !after ? 1 : 0);
      this.field.setSelectionRange(at, at);
      if (isWhole) this.search();
      else this.suggest();
    });
  }

  pressed(event) {
    const count = this.items.length;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!this.isOpen) return this.suggest();
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.chosen = (this.chosen + step + count + (this.chosen < 0 && step < 0 ? 1 : 0)) % count;
    } else if ((event.key === "Enter" || event.key === "Tab") && this.isOpen && this.chosen >= 0) {
      event.preventDefault();
      this.accept(this.items[this.chosen]);
    } else if (event.key === "Enter") {
      this.isOpen = false;
      this.search();
    } else if (event.key === "Escape") {
      if (this.isOpen) this.isOpen = false;
      else this.field.blur();
    }
    return undefined;
  }

  clear() {
    this.text = "";
    this.isOpen = false;
    this.search();
    this.field.focus();
  }

  /** The typed text again below the field, with the wrong part marked. */
  underline() {
    const problem = this.error?.errors?.find((one) => one.position !== undefined);
    if (!problem || this.text.trim() !== this.value) return nothing;
    const points = [...this.text];
    const end = problem.position + Math.max(1, problem.length);
    return html`<div class="underline" aria-hidden="true">${points.slice(0, problem.position).join("")}<mark>${points.slice(problem.position, end).join("") || " "}</mark></div>`;
  }

  render() {
    const problem = this.error?.errors?.[0];
    const active = this.isOpen && this.chosen >= 0 ? `suggestion-${this.chosen}` : undefined;
    return html`<div class="search ${this.error ? "wrong" : ""}">
      ${icon("search")}
      <div class="typed">
        <input type="search" role="combobox" aria-label="Search jobs" placeholder="Search: state:running test_accuracy>0.9 name:digits*" autocomplete="off" spellcheck="false"
          aria-expanded=${String(this.isOpen)} aria-controls="suggestions" aria-autocomplete="list" aria-activedescendant=${ifDefined(active)}
          aria-invalid=${String(Boolean(this.error))} aria-describedby=${this.error ? "search-error" : nothing}
          .value=${live(this.text)} @input=${() => this.typed()} @keydown=${(event) => this.pressed(event)} @focus=${() => this.suggest()}
          @blur=${() =>
            setTimeout(() => {
              this.isOpen = false;
            }, 150)}>
        ${this.underline()}
      </div>
      ${this.text ? html`<button type="button" class="ghost icon" aria-label="Clear the search" @click=${() => this.clear()}>${icon("close")}</button>` : html`<kbd class="wide-only" aria-hidden="true">/</kbd>`}
    </div>
    <ul id="suggestions" role="listbox" aria-label="Suggestions" ?hidden=${!this.isOpen}>${this.items.map(
      (item, index) => html`
      <li id="suggestion-${index}" role="option" aria-selected=${String(index === this.chosen)} @pointerdown=${(
        event,
      ) => {
        event.preventDefault();
        this.accept(item);
      }}>
        <span>${item.label}</span><span class="soft small">${item.jobs === null ? item.about : `${item.jobs.toLocaleString("en")} ${item.jobs === 1 ? "job" : "jobs"}`}</span></li>`,
    )}</ul>
    ${problem ? html`<p id="search-error" class="search-error" role="status">${said(problem.detail)}</p>` : nothing}`;
  }
}
customElements.define("ip-search", Search);
