// Parallel coordinates and a scatter plot of the settings that differ and the metrics.
import { isolated } from "../../lib/format.js";
import { html, nothing } from "../../vendor.js";
import { navigate, updateQuery } from "../../app/router.js";
import { keptOption } from "../../charts/chart.js";
import { distribution } from "../../charts/distribution.js";
import { axisOf, parallel } from "../../charts/parallel.js";
import { scatter } from "../../charts/scatter.js";
import { columnsOf, isThere } from "./differences.js";

const MOST_AXES = 9;
const MOST_NARROW = 4; // axes on a phone
const MOST_CLASSES = 60; // bars or boxes
const CHARTS = { scatter: "a point each job", box: "boxes", bar: "bars of means" };

const kept = new WeakMap(); // by the data: a brush changes none of it

/** The jobs as lines over the axes. */
export function lines(view, data) {
  const most = view.isNarrow ? MOST_NARROW : MOST_AXES;
  if (kept.get(data)?.most !== most) kept.set(data, { most, ...linesOf(data, most) });
  return kept.get(data);
}

function linesOf({ comparison }, most) {
  const columns = columnsOf(comparison);
  // An axis says something if most jobs have a value on it.
  const isCommon = (column) =>
    2 * comparison.jobs.filter((job) => isThere(column.value(job))).length > comparison.jobs.length;
  const metrics = columns.filter((column) => column.isMetric && isCommon(column)).slice(0, most > MOST_NARROW ? 2 : 1);
  const settings = columns.filter((column) => !column.isMetric && column.isOfAll).slice(0, most - metrics.length);
  const shown = settings.concat(metrics);
  const axes = shown.map((column) =>
    axisOf(
      column.key,
      column.words,
      comparison.jobs.map((job) => column.value(job)),
    ),
  );
  const rows = comparison.jobs.map((job) => ({
    id: job.id,
    label: `${isolated(job.name) || "unnamed"} ${job.id.slice(4, 8)}`,
    values: shown.map((column) => column.value(job)),
  }));
  return { columns, axes, rows, colored: settings.length, key: JSON.stringify([axes, rows]) };
}

function brush(view, rows) {
  return (_event, chart) => {
    const axes = chart.getModel().getComponent("parallel", 0)?.coordinateSystem;
    const active = [];
    axes?.eachActiveState(
      chart.getModel().getSeriesByIndex(0).getData(),
      (state, index) => state === "active" && active.push(rows[index].id),
    );
    const isBrushed = axes?.hasAxisBrushed();
    view.brushed = isBrushed ? new Set(active) : null;
  };
}

/** Removes what was chosen on all axes. */
function clear(view) {
  const { chart } = view.querySelector("ip-chart");
  chart.getModel().eachComponent("parallelAxis", ({ id, activeIntervals }) => {
    if (activeIntervals.length) chart.dispatchAction({ type: "axisAreaSelect", parallelAxisId: id, intervals: [] });
  });
}

export function relations(view, data, { columns, axes, rows, colored, key }) {
  if (rows.length < 3 || data.comparison.settings.length === 0 || axes.length < 2) return nothing;
  return html`<section class="section" aria-label="Relations">
    <div class="bar"><h2>Relations</h2>${view.brushed ? html`<span class="soft">${view.brushed.size} of ${rows.length} chosen</span><button type="button" @click=${() => clear(view)}>Show all</button>` : nothing}</div>
    <figure class="card"><figcaption class="soft small">Drag along an axis to choose jobs; click it to undo. The table and the curves show the chosen ones.</figcaption>
      <ip-chart class="tall" label="Parallel coordinates of ${rows.length} jobs" .option=${keptOption(view, "parallel", key, () => parallel(axes, rows, colored))} .events=${{ axisareaselected: brush(view, rows) }}></ip-chart></figure>
    ${pair(view, data, columns)}
  </section>`;
}

/** A chart of two quantities. */
function pair(view, data, columns) {
  const { query } = view.route;
  const column = (name, fallback) => columns.find((one) => one.key === query.get(name)) ?? fallback;
  const setting = columns.find((one) => !one.isMetric && one.isOfAll) ?? columns.find((one) => !one.isMetric);
  const sx = column("sx", setting);
  const sy = column("sy", columns.find((one) => one.isMetric) ?? columns.at(-1));
  const chart = Object.hasOwn(CHARTS, query.get("chart") ?? "") ? query.get("chart") : "scatter";
  const { jobs } = data.comparison;
  const axis = (one) =>
    axisOf(
      one.key,
      one.words,
      jobs.map((job) => one.value(job)),
    );
  const points = view.shown
    .map((job) => ({
      id: job.id,
      label: `${isolated(job.name)} ${job.id.slice(4, 8)}`,
      x: sx.value(job),
      y: sy.value(job),
      color: data.colors.get(job.id)?.color ?? "--c0",
    }))
    .filter((point) => isThere(point.x) && isThere(point.y));
  const classes = new Set(points.map(({ x }) => x)).size;
  const problem =
    chart === "scatter"
      ? ""
      : !axis(sy).isNumber
        ? `${sy.words} is no number: choose another y.`
        : classes > MOST_CLASSES
          ? `${sx.words} has ${classes} different values, more than fit: choose another x, or ${CHARTS.scatter}.`
          : "";
  const select = (
    name,
    words,
    chosen,
  ) => html`<label class="inline">${words} <select @change=${(event) => updateQuery({ [name]: event.target.value })}>
    ${columns.map((one) => html`<option value=${one.key} ?selected=${one === chosen}>${one.words}</option>`)}</select></label>`;
  const option = () =>
    chart === "scatter"
      ? scatter(axis(sx), axis(sy), points)
      : distribution(/** @type {"bar" | "box"} */ (chart), axis(sx), axis(sy), points);
  const name = chart === "scatter" ? "Scatter plot" : chart === "box" ? "Box plot" : "Bar chart";
  return html`<figure class="card"><div class="bar"><label class="inline">Chart <select name="chart" @change=${(event) => updateQuery({ chart: event.target.value === "scatter" ? null : event.target.value })}>
        ${Object.entries(CHARTS).map(([key, words]) => html`<option value=${key} ?selected=${key === chart}>${words}</option>`)}</select></label>${select("sx", "x", sx)}${select("sy", "y", sy)}</div>
      ${
        problem
          ? html`<p class="soft">${problem}</p>`
          : html`<ip-chart class="tall" label="${name} of ${points.length} jobs" .option=${keptOption(view, "pair", JSON.stringify([chart, sx.key, sy.key, points]), option)}
        .events=${{ click: ({ dataIndex }) => chart === "scatter" && navigate(`/jobs/${points[dataIndex].id}`) }}></ip-chart>
        ${chart === "bar" ? html`<p class="soft small">Each bar is a mean; the box at its end is one standard deviation below it to one above.</p>` : nothing}
        ${chart === "box" ? html`<p class="soft small">Each box is from the first to the third quartile with a line at the median; the whiskers are from the lowest to the highest.</p>` : nothing}`
      }</figure>`;
}
