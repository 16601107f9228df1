// Chooses and orders the columns of a table among all that its jobs have.
import { LitElement, html, nothing, repeat } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { label, number } from "../../lib/format.js";
import { openDialog } from "../../parts/dialog.js";
import { icon } from "../../parts/icon.js";
import { columnOf, defaults, ownColumns } from "./cells.js";

const MOST = 60; // shown at once; a search finds the others

class Columns extends LitElement {
  static properties = { chosen: { attribute: false }, all: { attribute: false }, filter: { state: true } };

  constructor() {
    super();
    /** @type {string[]} */
    this.chosen = [];
    /** @type {any[]} */
    this.all = [];
    this.filter = "";
  }

  createRenderRoot() {
    return this;
  }

  move(index, by) {
    const chosen = [...this.chosen];
    const [key] = chosen.splice(index, 1);
    chosen.splice(Math.max(0, Math.min(chosen.length, index + by)), 0, key);
    this.chosen = chosen;
  }

  add(key) {
    this.chosen = [...this.chosen, key];
  }
  drop(key) {
    this.chosen = this.chosen.filter((one) => one !== key);
  }

  render() {
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const isMatch = (one) =>
      words.every((word) => `${one.name} ${one.label} ${label(one.label)}`.toLowerCase().includes(word));
    const free = this.all.filter((one) => !this.chosen.includes(one.key) && isMatch(one));
    const differing = free.filter((one) => one.kind === "setting" && one.differs).map((one) => one.key);
    return html`<div class="chooser">
      <section><h3>Shown, in this order</h3>
        <ol>${repeat(
          this.chosen,
          (key) => key,
          (key, index) => html`<li>
          <span title=${key}>${columnOf(key).words}</span>
          <button type="button" class="ghost icon" aria-label="Move ${columnOf(key).words} up" ?disabled=${index === 0} @click=${() => this.move(index, -1)}>${icon("up")}</button>
          <button type="button" class="ghost icon" aria-label="Move ${columnOf(key).words} down" ?disabled=${index === this.chosen.length - 1} @click=${() => this.move(index, 1)}>${icon("down")}</button>
          <button type="button" class="ghost icon" aria-label="Remove ${columnOf(key).words}" @click=${() => this.drop(key)}>${icon("close")}</button></li>`,
        )}</ol>
        <button type="button" class="ghost" @click=${() => {
          this.chosen = [...defaults];
        }}>Default columns</button></section>
      <section><h3>Available</h3>
        <input type="search" aria-label="Find a column" placeholder="Find a setting or metric" .value=${this.filter} @input=${(
          event,
        ) => {
          this.filter = event.target.value;
        }}>
        ${differing.length ? html`<button type="button" class="ghost" @click=${() => differing.forEach((key) => this.add(key))}>${icon("plus")}The ${differing.length} settings that differ</button>` : nothing}
        <ul>${repeat(
          free.slice(0, MOST),
          (one) => one.key,
          (one) => html`<li><button type="button" class="menu-item" title=${one.name} @click=${() => this.add(one.key)}>
          <span>${label(one.label)}</span><span class="soft small">${about(one)}</span></button></li>`,
        )}</ul>
        ${free.length > MOST ? html`<p class="soft small">and ${free.length - MOST} more</p>` : nothing}</section>
    </div>`;
  }
}
customElements.define("ip-columns", Columns);

function about(one) {
  const range =
    one.type === "number" && one.min !== null && one.min !== one.max ? `${number(one.min)} to ${number(one.max)}` : "";
  return [one.kind, range].filter(Boolean).join(", ");
}

/** Resolves with the chosen columns, or undefined. @param {string[]} chosen @param {string} q */
export async function chooseColumns(chosen, q) {
  const found = await api.get("/v1/jobs:columns", { query: { q } }).catch(() => ({ columns: [] }));
  const shown = new Set(["name", "tag", ...ownColumns.map((one) => one.name)]);
  const others = found.columns
    .filter((one) => !shown.has(one.name))
    .map((one) => ({ ...one, key: one.kind === "setting" ? one.label : one.name }));
  const all = [...ownColumns.map((one) => ({ ...one, key: one.name })), ...others];
  return openDialog(
    (close) => html`
    <h2>Columns</h2>
    <ip-columns .chosen=${chosen} .all=${all}></ip-columns>
    <div class="buttons end"><button type="button" @click=${() => close()}>Cancel</button>
      <button type="button" class="primary" @click=${(event) => close(event.target.closest("dialog").querySelector("ip-columns").chosen)}>Show these</button></div>`,
    { label: "Columns", isWide: true },
  );
}
