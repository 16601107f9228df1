// Pictures of a sweep: its course, a grid of two settings, parallel coordinates.
import { html, nothing } from "../../vendor.js";
import { isShare, label, metric } from "../../lib/format.js";
import { keptOption, tooltip } from "../../charts/chart.js";
import "../../charts/curve.js";
import { axisOf, parallel } from "../../charts/parallel.js";
import { finished, nameOf } from "./words.js";

/** The value of each trial, and the best one so far. */
export function course(sweep, trials) {
  const done = finished(trials);
  const pruned = trials.filter((trial) => trial.state === "pruned" && trial.value !== null);
  const better = sweep.goal === "maximize" ? Math.max : Math.min;
  const scale = isShare(sweep.metric) ? 100 : 1;
  let best = null;
  const bests = done.map((trial) => {
    best = best === null ? trial.value : better(best, trial.value);
    return scale * best;
  });
  const x = done.map((trial) => trial.number);
  const series = [
    {
      id: "trial",
      label: "trial",
      color: "--c0",
      faint: true,
      x,
      y: done.map((trial) => scale * trial.value),
      points: true,
      isScattered: true,
    },
    { id: "best", label: "best so far", color: "--s1", x, y: bests },
  ];
  if (pruned.length) {
    series.push({
      id: "pruned",
      label: "pruned, after fewer epochs",
      color: "--s2",
      faint: true,
      x: pruned.map((trial) => trial.number),
      y: pruned.map((trial) => scale * trial.value),
      points: true,
      isScattered: true,
    });
  }
  return html`<figure class="card"><ip-curve .series=${series} .x=${"trial"} .name=${label(sweep.metric)} .unit=${isShare(sweep.metric) ? "%" : ""}></ip-curve></figure>`;
}

/** The mean of each pair of values of a grid over two settings. */
export function heat(view, sweep, trials) {
  if (sweep.method !== "grid" || sweep.parameters.length !== 2) return nothing;
  const [px, py] = sweep.parameters;
  const values = (pointer) =>
    [...new Set(trials.map((trial) => trial.parameters[pointer]))].sort((a, b) =>
      typeof a === "number" ? a - b : String(a).localeCompare(String(b)),
    );
  const [xs, ys] = [values(px), values(py)];
  const cells = finished(trials).map((trial) => [
    xs.indexOf(trial.parameters[px]),
    ys.indexOf(trial.parameters[py]),
    trial.value,
  ]);
  const range = cells.map((cell) => cell[2]);
  const option = (colors) => ({
    grid: { left: 80, right: 20, top: 12, bottom: 50 },
    tooltip: {
      ...tooltip(colors),
      formatter: ({ value: [x, y, value] }) =>
        `${nameOf(px)}  ${metric(px, xs[x])}\n${nameOf(py)}  ${metric(py, ys[y])}\n${label(sweep.metric)}  ${metric(sweep.metric, value)}`,
    },
    xAxis: {
      type: "category",
      data: xs.map((value) => metric(px, value)),
      name: nameOf(px),
      nameLocation: "middle",
      nameGap: 30,
      nameTextStyle: { color: colors.ink },
      axisLabel: { color: colors.soft },
    },
    yAxis: {
      type: "category",
      data: ys.map((value) => metric(py, value)),
      name: nameOf(py),
      nameLocation: "middle",
      nameGap: 58,
      nameTextStyle: { color: colors.ink },
      axisLabel: { color: colors.soft },
    },
    visualMap: {
      show: false,
      min: Math.min(...range),
      max: Math.max(...range),
      inRange: { color: [colors.grid, colors.s1] },
    },
    series: [
      {
        type: "heatmap",
        data: cells,
        label: {
          show: cells.length <= 60,
          color: colors.ink,
          backgroundColor: colors.card,
          borderRadius: 4,
          padding: [2, 5],
          formatter: ({ value }) => metric(sweep.metric, value[2]),
        },
      },
    ],
  });
  return html`<figure class="card"><h3>${label(sweep.metric)} by ${nameOf(px)} and ${nameOf(py)}</h3>
    <ip-chart label="Grid of ${nameOf(px)} and ${nameOf(py)}" .option=${keptOption(view, "heat", JSON.stringify(cells), () => option)}></ip-chart></figure>`;
}

/** Parallel coordinates of the settings and the objective. */
export function relation(view, sweep, trials) {
  const done = finished(trials);
  if (done.length < 3 || !sweep.parameters.length) return nothing;
  const axes = sweep.parameters.slice(0, 8).map((pointer) =>
    axisOf(
      pointer,
      nameOf(pointer),
      done.map((trial) => trial.parameters[pointer]),
    ),
  );
  axes.push(
    axisOf(
      sweep.metric,
      label(sweep.metric),
      done.map((trial) => trial.value),
    ),
  );
  const lines = done.map((trial) => ({
    id: String(trial.number),
    label: `trial ${trial.number}`,
    values: [...sweep.parameters.slice(0, 8).map((pointer) => trial.parameters[pointer]), trial.value],
  }));
  const key = JSON.stringify(lines);
  return html`<figure class="card section"><h3>Settings and results</h3>
    <ip-chart class="tall" label="Parallel coordinates of ${lines.length} trials" .option=${keptOption(view, "parallel", key, () => parallel(axes, lines, axes.length - 1))}></ip-chart></figure>`;
}
