// Parallel coordinates and a scatter plot of the settings that differ and the metrics.
import { isolated } from "../../lib/format.js";
import { html, nothing } from "../../vendor.js";
import { navigate, updateQuery } from "../../app/router.js";
import { keptOption } from "../../charts/chart.js";
import { axisOf, parallel } from "../../charts/parallel.js";
import { scatter } from "../../charts/scatter.js";
import { columnsOf, isThere } from "./differences.js";

const MOST_AXES = 9;

const kept = new WeakMap(); // by the data: a brush changes none of it

/** The jobs as lines over the axes. */
export function lines(data) {
  if (!kept.has(data)) kept.set(data, linesOf(data));
  return kept.get(data);
}

function linesOf({ comparison }) {
  const columns = columnsOf(comparison);
  // An axis says something if most jobs have a value on it.
  const isCommon = (column) =>
    2 * comparison.jobs.filter((job) => isThere(column.value(job))).length > comparison.jobs.length;
  const settings = columns.filter((column) => !column.isMetric && isCommon(column)).slice(0, MOST_AXES - 1);
  const shown = settings.concat(columns.filter((column) => column.isMetric).slice(0, 2));
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
  const { query } = view.route;
  const column = (name, fallback) => columns.find((one) => one.key === query.get(name)) ?? fallback;
  const sx = column("sx", columns[0]);
  const sy = column("sy", columns.find((one) => one.isMetric) ?? columns.at(-1));
  const { jobs } = data.comparison;
  const of = (one) =>
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
      color: data.colors.get(job.id).color,
    }))
    .filter((point) => point.x !== null && point.x !== undefined && point.y !== null && point.y !== undefined);
  const select = (
    name,
    words,
    chosen,
  ) => html`<label class="inline">${words} <select @change=${(event) => updateQuery({ [name]: event.target.value })}>
    ${columns.map((one) => html`<option value=${one.key} ?selected=${one === chosen}>${one.words}</option>`)}</select></label>`;
  return html`<section class="section" aria-label="Relations">
    <div class="bar"><h2>Relations</h2>${view.brushed ? html`<span class="soft">${view.brushed.size} of ${rows.length} chosen</span><button type="button" @click=${() => clear(view)}>Show all</button>` : nothing}</div>
    <figure class="card"><figcaption class="soft small">Drag along an axis to choose jobs; click it to undo. The table and the curves show the chosen ones.</figcaption>
      <ip-chart class="tall" label="Parallel coordinates of ${rows.length} jobs" .option=${keptOption(view, "parallel", key, () => parallel(axes, rows, colored))} .events=${{ axisareaselected: brush(view, rows) }}></ip-chart></figure>
    <figure class="card"><div class="bar">${select("sx", "x", sx)}${select("sy", "y", sy)}</div>
      <ip-chart class="tall" label="Scatter plot of ${points.length} jobs" .option=${keptOption(view, "scatter", JSON.stringify([sx.key, sy.key, points]), () => scatter(of(sx), of(sy), points))}
        .events=${{ click: ({ dataIndex }) => navigate(`/jobs/${points[dataIndex].id}`) }}></ip-chart></figure>
  </section>`;
}
