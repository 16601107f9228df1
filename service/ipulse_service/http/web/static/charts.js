// Charts of the training metrics, one for each kind and one series for each scope, updated while the job runs.
import uPlot from "../vendor/bundles/uplot.js";
import { element } from "./element.js";
import { figure, isPercent, kindOf, scopeOf, seriesName } from "./figures.js";

const COLOURS = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c0"];
const TITLES = { loss: "Loss", accuracy: "Accuracy", firing_rate: "Firing rate (share of neurons that spike in a step)", overflow: "Dropped spikes",
  learning_rate: "Learning rate", gradient_norm: "Gradient norm", gradient_set: "Active-gradient fraction (share of neurons that receive a gradient)",
  samples_per_second: "Samples per second", second_threshold: "Second threshold" };
const FIRST = ["accuracy", "loss", "firing_rate"];
const SINCE_START = new Set(["samples_per_second"]); // one figure, whatever the event's scope
const FAINT = "66"; // the opacity of batches, in hexadecimal

// A metric that is always 0 or 1, such as no dropped spikes, needs no chart.
const isInformative = (values) => values.some((value) => value !== null && value !== 0 && value !== 1);

export function charts() {
  const steps = []; // of each metric event
  const series = new Map(); // "scope name" -> {name, scope, title, values as long as steps}
  const drawn = new Map(); // kind -> {plot, keys}
  const box = element("section.charts");
  const resized = new ResizeObserver(() => drawn.forEach(({ plot, holder }) => plot.setSize(sizeOf(holder))));
  resized.observe(box);

  function draw() {
    for (const kind of kinds()) {
      const shown = seriesOf(kind), keys = shown.map(({ key }) => key).join();
      const data = [steps, ...shown.map(({ values }) => values)];
      const old = drawn.get(kind);
      if (old?.keys === keys) {
        old.plot.setData(data);
        continue;
      }
      const holder = element("div");
      const card = element("figure.card", {}, element("figcaption", {}, TITLES[kind] ?? kind.replaceAll("_", " ")), holder);
      if (old) old.card.replaceWith(card);
      else place(kind, card);
      drawn.set(kind, { plot: new uPlot(options(kind, shown, holder), data, holder), card, holder, keys });
    }
  }

  /** The series of a chart; batches are drawn first, below the epochs. */
  function seriesOf(kind) {
    const all = [...series.values()].filter(({ name }) => kindOf(name) === kind);
    const names = [...new Set(all.map(({ name }) => name))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    const rank = ({ name, scope }) => (scope === "step" ? 0 : names.length) + names.indexOf(name);
    return all.map((one) => ({ ...one, colour: COLOURS[names.indexOf(one.name) % COLOURS.length] })).sort((a, b) => rank(a) - rank(b));
  }

  function place(kind, card) {
    const next = kinds().slice(kinds().indexOf(kind) + 1).find((later) => drawn.has(later));
    box.insertBefore(card, next ? drawn.get(next).card : null);
  }

  function kinds() {
    const all = [...new Set([...series.values()].filter(({ values }) => isInformative(values)).map(({ name }) => kindOf(name)))];
    const rank = (kind) => (FIRST.includes(kind) ? FIRST.indexOf(kind) : FIRST.length);
    return all.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  }

  function add(event) {
    while (steps.length && steps.at(-1) >= event.step) forget(); // another attempt resumes from a checkpoint
    steps.push(event.step);
    series.forEach(({ values }) => values.push(null));
    for (const [name, value] of Object.entries(event.values)) {
      const scope = SINCE_START.has(name) ? "" : scopeOf(event);
      const key = `${scope} ${name}`;
      if (!series.has(key)) {
        const title = seriesName(name, scope, event.held_out ?? "test");
        series.set(key, { key, name, scope, title, values: new Array(steps.length).fill(null) });
      }
      series.get(key).values[steps.length - 1] = value;
    }
  }

  function forget() {
    steps.pop();
    series.forEach(({ values }) => values.pop());
  }

  return {
    element: box,
    add(events) {
      const metrics = events.filter((event) => event.kind === "metric");
      metrics.forEach(add);
      if (metrics.length) draw();
    },
  };
}

function options(kind, shown, holder) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), width: 1 } };
  const scale = isPercent(kind) ? { values: (_plot, ticks) => ticks.map((tick) => `${Number((100 * tick).toPrecision(6))} %`) } : {};
  return {
    ...sizeOf(holder),
    scales: { x: { time: false } },
    axes: [{ ...axis, label: "step", labelSize: 18, size: 34, labelFont: "12px sans-serif" }, { ...axis, ...scale, size: 58 }],
    cursor: { drag: { x: false, y: false } },
    series: [{ label: "step", value: (plot, _value, _i, at) => (plot.data[0][at ?? plot.data[0].length - 1] ?? "").toLocaleString("en") },
      ...shown.map(({ name, scope, title, colour: of }) => {
        const stroke = colour(of) + (scope === "step" ? FAINT : "");
        return {
          label: title,
          stroke,
          width: scope === "step" ? 1 : 2,
          points: { show: isLonely, size: 7, fill: stroke },
          spanGaps: true,
          value: (plot, _value, i, at) => latest(plot.data[i], at, name),
        };
      })],
  };
}

/** The last value up to a point of the chart; without one, the last of all. */
function latest(values, at, name) {
  for (let i = at ?? values.length - 1; i >= 0; i -= 1) {
    if (values[i] !== null) return figure(name, values[i]);
  }
  return "";
}

// A metric with one value, such as the test accuracy of one epoch, is drawn as a point.
const isLonely = (plot, i) => plot.data[i].filter((value) => value !== null).length === 1;

function sizeOf(holder) {
  return { width: Math.max(260, holder.clientWidth || 460), height: 210 };
}
