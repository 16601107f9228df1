// Mean, spread and tests of groups of jobs, such as those that differ in the seed only.
import { LitElement, html, nothing, svg } from "../../vendor.js";
import { label, metric, number } from "../../lib/format.js";
import { isNarrow } from "../../lib/narrow.js";
import { folded, titled, words } from "./groups.js";
import { isThere } from "./differences.js";

const WIDTH = 150;
const FEW = 3; // jobs below which a spread says little
const ROWS = 30; // at first
const CARDS = 8; // on a phone

/** @type {[string, string][]} heads, and names in the answer */
const FIGURES = [
  ["Mean", "mean"],
  ["Std. dev.", "sd"],
  ["95 % interval", "interval"],
  ["p", "p_holm"],
  ["Lowest", "min"],
  ["Highest", "max"],
];

/** The values of a group on the scale of all groups: a dot a job, a line at the mean. */
function dots(name, jobs, group, low, high) {
  const values = group.jobs
    .map((id) => jobs.get(id)?.metrics[name]?.value)
    .filter((value) => typeof value === "number");
  const at = (value) => (high === low ? WIDTH / 2 : 6 + ((value - low) / (high - low)) * (WIDTH - 12));
  const { mean } = group.metrics[name];
  return html`<svg class="dots" width=${WIDTH} height="20" viewBox="0 0 ${WIDTH} 20" role="img" aria-label="${values.length} values from ${metric(name, Math.min(...values))} to ${metric(name, Math.max(...values))}">
    ${svg`<line x1="2" x2=${WIDTH - 2} y1="10" y2="10" class="rail"></line>`}
    ${values.map((value) => svg`<circle cx=${at(value)} cy="10" r="4"></circle>`)}
    ${svg`<line x1=${at(mean)} x2=${at(mean)} y1="2" y2="18" class="mean"></line>`}</svg>`;
}

/** It is drawn again only for another comparison, not while an axis is brushed. */
class GroupTable extends LitElement {
  static properties = {
    comparison: { attribute: false },
    group: { attribute: false },
    name: { state: true },
    sort: { state: true },
    isWhole: { state: true },
  };

  constructor() {
    super();
    this.comparison = null;
    this.group = "";
    this.name = ""; // of the metric
    this.sort = ""; // a figure, after - highest first
    this.isWhole = false;
  }

  createRenderRoot() {
    return this;
  }

  /** The groups that have the metric, in the order that was asked for. */
  sorted(name) {
    const groups = this.comparison.groups.filter((group) => group.metrics[name]?.n);
    const key = this.sort.replace(/^-/, "");
    if (!key) return groups;
    const sign = this.sort.startsWith("-") ? -1 : 1;
    const of = (group) => group.metrics[name][key] ?? sign * Infinity;
    return groups.sort((a, b) => sign * (of(a) - of(b)));
  }

  head([text, key]) {
    const direction = { [key]: "ascending", [`-${key}`]: "descending" }[this.sort];
    const next = { ascending: "", descending: key }[direction] ?? `-${key}`;
    return html`<th scope="col" class="number" aria-sort=${direction ?? nothing}><button type="button" class="sort" @click=${() => {
      this.sort = next;
    }}>${text}${direction ? (direction === "ascending" ? " ↑" : " ↓") : nothing}</button></th>`;
  }

  render() {
    const { comparison } = this;
    const name = comparison?.metrics.includes(this.name) ? this.name : comparison?.metrics[0];
    if (!name || !(this.group || comparison.groups.some((group) => group.jobs.length > 1))) return nothing;
    const jobs = new Map(comparison.jobs.map((job) => [job.id, job]));
    const values = comparison.jobs.map((job) => job.metrics[name]?.value).filter((value) => typeof value === "number");
    if (!values.length) return nothing;
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const short = new Map(comparison.settings.map((one) => [one.name, one.label]));
    const { titles, keys, isLong } = titled(comparison);
    const called = new Map(comparison.groups.map((group, index) => [group, titles[index]]));
    const groups = this.sorted(name);
    const rows = this.isWhole ? groups.length : isNarrow() ? CARDS : ROWS;
    const common = keys.filter((key) => groups.every((group) => isThere(group.values[key])));
    const others = keys.filter((key) => !common.includes(key));
    const title = (one) => label(short.get(one) ?? one);
    const tests = groups.filter((group) => isThere(group.metrics[name].p)).length;
    const isFew = groups.some(({ metrics }) => metrics[name].n > 1 && metrics[name].n < FEW);
    return html`<section class="section" aria-label="Groups">
    <div class="bar"><h2>${this.group ? "Groups" : "Over seeds"}: ${label(name)}</h2>
      ${
        comparison.metrics.length > 1
          ? html`<label class="inline">Metric <select @change=${(event) => {
              this.name = event.target.value;
            }}>${comparison.metrics.map((one) => html`<option value=${one} ?selected=${one === name}>${label(one)}</option>`)}</select></label>`
          : nothing
      }</div>
    <div class="grid-box" tabindex="0" role="region" aria-label="Mean and spread"><table class="grid groups"><caption>Mean and spread of groups of jobs</caption>
      <thead><tr>${isLong ? html`<th scope="col">Group</th>` : common.map((one) => html`<th scope="col" title=${one}>${title(one)}</th>`)}${!isLong && others.length ? html`<th scope="col">Other settings</th>` : nothing}<th scope="col" class="number">Jobs</th>${FIGURES.map((one) => this.head(one))}<th scope="col">Values</th>${isLong ? html`<th scope="col">Settings</th>` : nothing}</tr></thead>
      <tbody>${groups.slice(0, rows).map((group) => {
        const one = group.metrics[name];
        return html`<tr>${isLong ? html`<th scope="row" title=${called.get(group)}><span class="title">${called.get(group)}</span></th>` : common.map((key) => html`<td data-label=${title(key)}>${metric(key, group.values[key])}</td>`)}
          ${!isLong && others.length ? html`<td data-label="Other settings">${words(group, comparison, others) || "—"}</td>` : nothing}
          <td class="number" data-label="Jobs">${one.n < one.of ? `${one.n} of ${one.of}` : one.n}</td><td class="number ${one.is_best ? "best" : ""}" data-label="Mean"><strong>${metric(name, one.mean)}</strong></td>
          <td class="number" data-label="Std. dev.">${metric(name, one.sd)}</td><td class="number" data-label="95 % interval">${one.interval === null ? "—" : html`± ${metric(name, one.interval)}`}</td>
          <td class="number" data-label="p">${one.is_best ? "best" : probability(one.p_holm)}</td>
          <td class="number" data-label="Lowest">${metric(name, one.min)}</td><td class="number" data-label="Highest">${metric(name, one.max)}</td><td data-label="Values">${dots(name, jobs, group, low, high)}</td>${isLong ? html`<td>${folded(group, comparison, keys)}</td>` : nothing}</tr>`;
      })}</tbody></table></div>
    ${
      groups.length > rows
        ? html`<p><button type="button" @click=${() => {
            this.isWhole = true;
          }}>Show all ${groups.length.toLocaleString("en")} groups</button></p>`
        : nothing
    }
    <p class="soft small">${tests ? `p: Welch's t-test of each group against the best one, by Holm's correction for ${tests} ${tests === 1 ? "test" : "tests"}. The interval is that of the mean, by Student's t.` : "No difference is tested: a test needs two values of the best group and of another one."}
      ${isFew ? "Two values say little about a spread: use three seeds or more." : nothing}</p>
  </section>`;
  }
}
customElements.define("ip-group-table", GroupTable);

const probability = (p) => (p === null ? "—" : p < 0.001 ? "< 0.001" : number(Number(p.toPrecision(2))));
