// Charts of the training metrics, one for each kind, updated while the job runs.
import { element } from "./element.js";

const COLOURS = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c0"];
// loss and test_loss are one chart, firing_rate/1 and firing_rate/2 another.
const kindOf = (name) => name.replace(/^test_/, "").split("/")[0];
const TITLES = { loss: "Loss", accuracy: "Accuracy", firing_rate: "Firing rate (spikes per neuron and step)", overflow: "Dropped spikes",
  learning_rate: "Learning rate", gradient_norm: "Gradient norm", gradient_set: "Active-gradient fraction (share of neurons that receive a gradient)",
  samples_per_second: "Samples per second", second_threshold: "Second threshold" };
const FIRST = ["accuracy", "loss", "firing_rate"];

// A metric that is always 0 or 1, such as no dropped spikes, needs no chart.
const isInformative = (values) => values.some((value) => value !== null && value !== 0 && value !== 1);

export function charts() {
  const steps = []; // of each metric event
  const figures = new Map(); // name -> values, as long as steps
  const drawn = new Map(); // kind -> {plot, names}
  const box = element("section.charts");
  const resized = new ResizeObserver(() => drawn.forEach(({ plot, holder }) => plot.setSize(sizeOf(holder))));
  resized.observe(box);

  function draw() {
    for (const kind of kinds()) {
      const names = [...figures.keys()].filter((name) => kindOf(name) === kind);
      const data = [steps, ...names.map((name) => figures.get(name))];
      const old = drawn.get(kind);
      if (old && old.names.length === names.length) {
        old.plot.setData(data);
        continue;
      }
      const holder = element("div");
      const figure = element("figure.card", {}, element("figcaption", {}, TITLES[kind] ?? kind.replaceAll("_", " ")), holder);
      if (old) old.figure.replaceWith(figure);
      else place(kind, figure);
      drawn.set(kind, { plot: new uPlot(options(names, holder), data, holder), figure, holder, names });
    }
  }

  function place(kind, figure) {
    const next = kinds().slice(kinds().indexOf(kind) + 1).find((later) => drawn.has(later));
    box.insertBefore(figure, next ? drawn.get(next).figure : null);
  }

  function kinds() {
    const all = [...new Set([...figures].filter(([, values]) => isInformative(values)).map(([name]) => kindOf(name)))];
    const rank = (kind) => (FIRST.includes(kind) ? FIRST.indexOf(kind) : FIRST.length);
    return all.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  }

  return {
    element: box,
    add(events) {
      const metrics = events.filter((event) => event.kind === "metric");
      for (const { step, values } of metrics) {
        while (steps.length && steps.at(-1) >= step) forget(); // another attempt resumes from a checkpoint
        steps.push(step);
        for (const name of Object.keys(values)) {
          if (!figures.has(name)) figures.set(name, new Array(steps.length - 1).fill(null));
        }
        figures.forEach((column, name) => column.push(values[name] ?? null));
      }
      if (metrics.length) draw();
    },
  };

  function forget() {
    steps.pop();
    figures.forEach((column) => column.pop());
  }
}

function options(names, holder) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), width: 1 } };
  return {
    ...sizeOf(holder),
    scales: { x: { time: false } },
    axes: [{ ...axis, label: "step", labelSize: 18, size: 34, labelFont: "12px sans-serif" }, { ...axis, size: 58 }],
    cursor: { drag: { x: false, y: false } },
    series: [{ label: "step" }, ...names.map((name, i) => {
      const stroke = colour(COLOURS[i % COLOURS.length]);
      return {
        label: name.replaceAll("_", " "),
        stroke,
        width: 2,
        points: { show: isLonely, size: 7, fill: stroke },
        spanGaps: true,
        value: (_plot, value) => (value === null ? "" : value.toPrecision(4)),
      };
    })],
  };
}

// A metric with one value, such as the test accuracy of one epoch, is drawn as a point.
const isLonely = (plot, i) => plot.data[i].filter((value) => value !== null).length === 1;

function sizeOf(holder) {
  return { width: Math.max(260, holder.clientWidth || 460), height: 210 };
}
