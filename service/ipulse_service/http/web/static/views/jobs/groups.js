// The jobs in groups, such as those that differ in the seed only, with mean and spread of their figures.
import { html, nothing } from "../../vendor.js";
import { api, zone } from "../../lib/api.js";
import { label, metric } from "../../lib/format.js";
import { isNarrow } from "../../lib/narrow.js";
import { names } from "../../lib/query.js";
import { folded, titled } from "../compare/groups.js";

const ROWS = 100; // at first
const CARDS = 10; // on a phone

/** Compares the jobs of a search in groups. `group`: "seed" for all but the seed, else the names of columns. */
export function groups(q, group, signal) {
  const body = {
    q,
    time_zone: zone(),
    group_by: group === "seed" ? null : names(group),
    except: ["seed"],
    metrics: null,
  };
  return api.post("/v1/jobs:compare", body, { signal });
}

/** Mean and deviation with the digits that the deviation allows. */
export function spread(name, { n, of, mean, sd }) {
  if (!n) return nothing;
  const deviation = sd === null || sd === undefined ? nothing : html` <span class="soft">± ${metric(name, sd)}</span>`;
  return html`${metric(name, mean)}${deviation}${n < of ? html` <span class="soft small">${n} of ${of}</span>` : nothing}`;
}

/** @param {any} data answer of jobs:compare @param {any} view */
export function groupTable(data, view) {
  const { groups: found, metrics } = data;
  const { titles, keys, isLong } = view.group === "seed" ? titled(data) : { keys: data.group_by, isLong: false };
  const names = isLong ? [] : keys;
  const first = isNarrow() ? CARDS : ROWS;
  const rows = Math.max(first, view.groupRows);
  const short = new Map(data.settings.map((one) => [one.name, one.label]));
  return html`<div class="grid-box"><table class="grid">
    <caption>Groups of jobs</caption>
    <thead><tr>${isLong ? html`<th scope="col">Group</th>` : nothing}${names.map((name) => html`<th scope="col" title=${name}>${label(short.get(name) ?? name)}</th>`)}<th scope="col" class="number">Jobs</th>
      ${metrics.map((name) => html`<th scope="col" class="number" title="mean ± standard deviation">${label(name)}, mean</th>`)}<th scope="col"><span class="visually-hidden">Actions</span></th>${isLong ? html`<th scope="col">Settings</th>` : nothing}</tr></thead>
    <tbody>${found.slice(0, rows).map(
      (one, index) => html`<tr>
      ${isLong ? html`<th scope="row" title=${titles[index]}><span class="title">${titles[index]}</span></th>` : nothing}${names.map((name) => html`<td data-label=${label(short.get(name) ?? name)}>${metric(name, one.values[name])}</td>`)}
      <td class="number" data-label="Jobs">${one.jobs.length}</td>
      ${metrics.map((name) => html`<td class="number" data-label="${label(name)}, mean">${one.metrics[name] ? spread(name, one.metrics[name]) : "—"}</td>`)}
      <td><a href="/compare?jobs=${one.jobs.map((id) => id.slice(4)).join(",")}">Compare</a></td>${isLong ? html`<td>${folded(one, data, keys)}</td>` : nothing}</tr>`,
    )}</tbody>
  </table></div>
  ${
    found.length > rows
      ? html`<p class="buttons"><button type="button" @click=${() => {
          view.groupRows = rows + first;
        }}>Show ${Math.min(first, found.length - rows)} more of ${found.length.toLocaleString("en")} groups</button></p>`
      : nothing
  }
  <p class="soft small paging">${data.compared.toLocaleString("en")} of ${data.total.toLocaleString("en")} jobs in ${found.length.toLocaleString("en")} groups.
    ${view.group === "seed" ? "Jobs of a group differ in the seed only." : ""}</p>`;
}
