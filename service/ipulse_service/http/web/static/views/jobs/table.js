// The rows of the jobs table.
import { html, ifDefined, nothing, repeat } from "../../vendor.js";
import { icon } from "../../parts/icon.js";
import { names } from "../../lib/query.js";
import { columnOf } from "./cells.js";

const HIDDEN_ON_PHONES = new Set(["device"]);

/** @param {any} data @param {any} view */
export function jobTable(data, view) {
  const columns = view.columns.map((key) => ({ key, ...columnOf(key) }));
  const { selection } = view;
  const isWhole = data.jobs.every((job) => selection.has(job.id));
  return html`<div class="grid-box jobs"><table class="grid">
    <caption>Jobs</caption>
    <thead><tr>
      <th scope="col" class="pick"><input type="checkbox" aria-label="Select all on this page" .checked=${isWhole}
        .indeterminate=${!isWhole && data.jobs.some((job) => selection.has(job.id))} @change=${() => selection.setAll(data.jobs, !isWhole)}></th>
      ${head({ key: "name", words: "Name", sort: "name", isText: true }, view)}
      ${columns.map((column) => head(column, view))}
    </tr></thead>
    <tbody>${repeat(
      data.jobs,
      (job) => job.id,
      (job, index) => row(job, index, columns, view),
    )}</tbody>
  </table></div>`;
}

function head(column, view) {
  const sort = column.sort && names(view.sort).find((one) => one.replace(/^-/, "") === column.sort);
  const direction = sort ? (sort.startsWith("-") ? "descending" : "ascending") : undefined;
  return html`<th scope="col" class=${column.isNumber ? "number" : ""} aria-sort=${ifDefined(direction)} title=${column.key}>
    ${
      column.sort
        ? html`<button type="button" class="sort" @click=${(event) => view.sortBy(column.sort, event.shiftKey)}>${column.words}
      ${direction ? icon(direction === "descending" ? "down" : "up") : nothing}</button>`
        : column.words
    }</th>`;
}

function row(job, index, columns, view) {
  const isSelected = view.selection.has(job.id);
  const name = job.name || "unnamed";
  return html`<tr class="${index === view.cursor ? "cursor" : ""} ${isSelected ? "selected" : ""}">
    <td class="pick"><input type="checkbox" aria-label="Select ${name}" .checked=${isSelected} @change=${() => view.selection.toggle(job, view.data.jobs)}
      @click=${(event) => event.shiftKey && view.selection.extend(view.data.jobs, job)}></td>
    <th scope="row"><a class="name" href="/jobs/${job.id}" @focus=${() => {
      view.cursor = index;
    }}>${name}</a>
      <span class="soft small id">${job.id.slice(4, 8)}</span>
      ${job.tags?.length && !view.columns.includes("tags") ? job.tags.map((tag) => html`<span class="tag">${tag}</span> `) : nothing}</th>
    ${columns.map(
      (
        column,
      ) => html`<td class="${column.isNumber ? "number" : ""} ${HIDDEN_ON_PHONES.has(column.key) ? "wide-only" : ""} c-${cssName(column.key)}"
      data-label=${column.words}>${column.cell(job, view)}</td>`,
    )}
  </tr>`;
}

const cssName = (key) => key.replace(/[^\w-]/g, "-");
