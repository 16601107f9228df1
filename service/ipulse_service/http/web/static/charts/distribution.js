// Bars of means with their standard deviations, and box plots, of a quantity by another one.
import { metric } from "../lib/format.js";
import { tooltip } from "./chart.js";

/** @typedef {import("./parallel.js").Axis} Axis */

/** The value below which a share of sorted values is, between two of them on a straight line. */
function quantile(sorted, share) {
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  return sorted[below] + (place - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
}

/** Mean, standard deviation (null of one value) and quartiles. @param {number[]} values */
export function figuresOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const n = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const box = [0, 0.25, 0.5, 0.75, 1].map((share) => quantile(sorted, share));
  return { n, mean, deviation: n > 1 ? Math.sqrt(squares / (n - 1)) : null, box };
}

/** The values of y for each value of x, in the order of x. */
function classes(points) {
  const found = new Map();
  for (const { x, y } of points) if (typeof y === "number") found.set(x, [...(found.get(x) ?? []), y]);
  return [...found].sort(([a], [b]) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en"),
  );
}

/**
 * @param {"bar" | "box"} kind @param {Axis} x @param {Axis} y
 * @param {{id: string, label: string, x: any, y: any}[]} points
 */
export function distribution(kind, x, y, points) {
  const groups = classes(points).map(([at, values]) => ({ at: metric(x.key, at), ...figuresOf(values) }));
  const text = ({ at, n, mean, deviation, box }) =>
    [
      `${x.label}  ${at}`,
      `${y.label}, mean  ${metric(y.key, mean)}${deviation === null ? "" : ` ± ${metric(y.key, deviation)}`}`,
      `median  ${metric(y.key, box[2])}`,
      `lowest to highest  ${metric(y.key, box[0])} to ${metric(y.key, box[4])}`,
      `n  ${n}`,
    ].join("\n");
  return (colors) => {
    const axis = {
      nameLocation: "middle",
      nameTextStyle: { color: colors.ink, fontSize: 12.5 },
      axisLine: { lineStyle: { color: colors.c0 } },
      splitLine: { lineStyle: { color: colors.grid } },
    };
    // A box from one deviation below the mean to one above.
    const spreads = groups.map(({ mean, deviation }) => {
      const [low, high] = [mean - (deviation ?? 0), mean + (deviation ?? 0)];
      return [low, low, mean, high, high];
    });
    const box = { type: "boxplot", boxWidth: [4, kind === "bar" ? 18 : 40], cursor: "default" };
    return {
      grid: { left: 66, right: 20, top: 16, bottom: 46, containLabel: false },
      tooltip: { ...tooltip(colors), formatter: ({ dataIndex }) => text(groups[dataIndex]) },
      xAxis: {
        ...axis,
        type: "category",
        data: groups.map(({ at }) => at),
        name: x.label,
        nameGap: 28,
        axisLabel: { color: colors.soft, hideOverlap: true },
      },
      yAxis: {
        ...axis,
        type: "value",
        scale: kind === "box",
        name: y.label,
        nameGap: 48,
        axisLabel: { color: colors.soft, formatter: (value) => metric(y.key, value) },
      },
      series:
        kind === "bar"
          ? [
              {
                type: "bar",
                barMaxWidth: 46,
                itemStyle: { color: colors.s1, opacity: 0.8 },
                data: groups.map(({ mean }) => mean),
              },
              { ...box, itemStyle: { color: "transparent", borderColor: colors.ink, borderWidth: 1.5 }, data: spreads },
            ]
          : [
              {
                ...box,
                itemStyle: { color: colors.panel, borderColor: colors.s1, borderWidth: 1.8 },
                data: groups.map((one) => one.box),
              },
            ],
    };
  };
}
