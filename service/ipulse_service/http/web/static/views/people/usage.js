// Device hours by project, person, kind of device and month, and what failed attempts cost.
import { html } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { View } from "../../app/view.js";
import { empty } from "../../parts/states.js";

/** The columns by which hours can be added up, with their names. */
const COLUMNS = { project: "Project", user: "Person", device: "Device", month: "Month" };
/** The columns of hours, with their names. */
const FIGURES = { device_hours: "Hours", failed_hours: "Failed", lost_hours: "Lost" };
const HOURS = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

class UsageView extends View {
  static properties = { ...View.properties, by: { state: true } };

  constructor() {
    super();
    /** @type {string[]} */
    this.by = Object.keys(COLUMNS);
  }

  heading() {
    return "Usage";
  }

  async load(_route, signal) {
    const query = new URLSearchParams(this.by.map((name) => ["by", name]));
    return (await api.get(`/v1/usage?${query}`, { signal })).usage;
  }

  choose(name, isOn) {
    const chosen = Object.keys(COLUMNS).filter((each) => (each === name ? isOn : this.by.includes(each)));
    if (!chosen.length) return;
    this.by = chosen;
    this.reload();
  }

  view(rows) {
    const total = (name) => rows.reduce((sum, row) => sum + row[name], 0);
    return html`<div class="head"><h1>Usage</h1></div>
      <p class="soft">Device hours of attempts that have ended, in the month of their end (UTC). A job with n IPUs counts n times.</p>
      <fieldset class="field row"><legend>Add up by</legend>${Object.entries(COLUMNS).map(
        ([name, words]) => html`<label class="check">
        <input type="checkbox" .checked=${this.by.includes(name)} ?disabled=${this.by.length === 1 && this.by.includes(name)} @change=${(event) => this.choose(name, event.target.checked)}><span>${words}</span></label>`,
      )}</fieldset>
      ${
        rows.length
          ? html`<div class="grid-box" tabindex="0" role="region" aria-label="Device hours"><table class="grid"><caption>Device hours</caption>
        <thead><tr>${this.by.map((name) => html`<th scope="col">${COLUMNS[name]}</th>`)}${Object.values(FIGURES).map((words) => html`<th scope="col" class="number">${words}</th>`)}<th scope="col" class="number">Attempts</th></tr></thead>
        <tbody>${rows.map(
          (
            row,
          ) => html`<tr>${this.by.map((name, index) => (index ? html`<td data-label=${COLUMNS[name]}>${row[name] ?? ""}</td>` : html`<th scope="row">${row[name] ?? ""}</th>`))}
          ${Object.entries(FIGURES).map(([name, words]) => html`<td class="number" data-label=${words}>${row[name] ? HOURS.format(row[name]) : html`<span class="soft">0</span>`}</td>`)}
          <td class="number" data-label="Attempts">${row.attempts.toLocaleString("en")}</td></tr>`,
        )}</tbody>
        <tfoot><tr><th scope="row">All</th>${this.by.slice(1).map(() => html`<td></td>`)}${Object.keys(FIGURES).map((name) => html`<td class="number">${HOURS.format(total(name))}</td>`)}<td class="number">${total("attempts").toLocaleString("en")}</td></tr></tfoot></table></div>
        <p class="soft small">Failed and lost hours are a part of the hours: of attempts that failed, and of those that workers have lost.</p>`
          : empty({ title: "No device time yet", text: "An attempt is counted when it ends.", command: "ipulse usage" })
      }`;
  }
}
customElements.define("ip-usage", UsageView);
