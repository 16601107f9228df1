// Mean and spread of jobs that differ in the seed only.
import { LitElement, html, nothing, svg } from "../../vendor.js";
import { label, metric } from "../../lib/format.js";

const WIDTH = 150;
const FEW = 3; // jobs below which a spread says little

/** The values of a group on the scale of all groups: a dot a job, a line at the mean. */
function dots(name, jobs, group, low, high) {
  const values = group.jobs.map((id) => jobs.get(id)?.metrics[name]?.kept).filter((value) => typeof value === "number");
  const at = (value) => (high === low ? WIDTH / 2 : 6 + ((value - low) / (high - low)) * (WIDTH - 12));
  const { mean } = group.metrics[name];
  return html`<svg class="dots" width=${WIDTH} height="20" viewBox="0 0 ${WIDTH} 20" role="img" aria-label="${values.length} values from ${metric(name, Math.min(...values))} to ${metric(name, Math.max(...values))}">
    ${svg`<line x1="2" x2=${WIDTH - 2} y1="10" y2="10" class="rail"></line>`}
    ${values.map((value) => svg`<circle cx=${at(value)} cy="10" r="4"></circle>`)}
    ${svg`<line x1=${at(mean)} x2=${at(mean)} y1="2" y2="18" class="mean"></line>`}</svg>`;
}

/** It is drawn again only for another comparison, not while an axis is brushed. */
class Seeds extends LitElement {
  static properties = { comparison: { attribute: false } };

  constructor() {
    super();
    this.comparison = null;
  }

  createRenderRoot() {
    return this;
  }

  render() {
    return this.comparison ? seeds(this.comparison) : nothing;
  }
}
customElements.define("ip-seeds", Seeds);

function seeds(comparison) {
  const several = comparison.groups.filter((group) => group.jobs.length > 1);
  const [name] = comparison.metrics;
  if (!several.length || !name) return nothing;
  const jobs = new Map(comparison.jobs.map((job) => [job.id, job]));
  const values = comparison.jobs.map((job) => job.metrics[name]?.kept).filter((value) => typeof value === "number");
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const short = new Map(comparison.settings.map((one) => [one.name, one.label]));
  const groups = comparison.groups.filter((group) => group.metrics[name]?.n);
  const isFew = several.some((group) => group.metrics[name]?.n < FEW);
  const words = (one) => label(short.get(one) ?? one);
  return html`<section class="section" aria-label="Over seeds">
    <h2>Over seeds: ${label(name)}</h2>
    <div class="grid-box" tabindex="0" role="region" aria-label="Mean and spread"><table class="grid"><caption>Mean and spread of jobs that differ in the seed only</caption>
      <thead><tr>${comparison.group_by.map((one) => html`<th scope="col" title=${one}>${words(one)}</th>`)}<th scope="col" class="number">Jobs</th><th scope="col" class="number">Mean</th>
        <th scope="col" class="number">Std. dev.</th><th scope="col" class="number">95 % interval</th><th scope="col" class="number">Lowest</th><th scope="col" class="number">Highest</th><th scope="col">Values</th></tr></thead>
      <tbody>${groups.map((group) => {
        const one = group.metrics[name];
        return html`<tr>${comparison.group_by.map((key) => html`<td data-label=${words(key)}>${metric(key, group.values[key])}</td>`)}
          <td class="number" data-label="Jobs">${one.n < one.of ? `${one.n} of ${one.of}` : one.n}</td><td class="number" data-label="Mean"><strong>${metric(name, one.mean)}</strong></td>
          <td class="number" data-label="Std. dev.">${metric(name, one.sd)}</td><td class="number" data-label="95 % interval">${one.interval === null ? "—" : html`± ${metric(name, one.interval)}`}</td>
          <td class="number" data-label="Lowest">${metric(name, one.min)}</td><td class="number" data-label="Highest">${metric(name, one.max)}</td><td data-label="Values">${dots(name, jobs, group, low, high)}</td></tr>`;
      })}</tbody></table></div>
    ${isFew ? html`<p class="soft small">Two values say little about a spread: use three seeds or more.</p>` : nothing}
  </section>`;
}
