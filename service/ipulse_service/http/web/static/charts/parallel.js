// Parallel coordinates: one axis a setting or metric, one line a job.
import { metric } from "../lib/format.js";
import { tooltip } from "./chart.js";

/**
 * @typedef {{key: string, label: string, isNumber: boolean, isLog: boolean, categories: string[]}} Axis
 * @typedef {{id: string, label: string, values: any[]}} Line values in the order of the axes
 */

/** Whether the values of an axis spread over so many decades that a log scale reads better. */
function isWide(values) {
  const positive = values.filter((value) => value > 0);
  return positive.length === values.length && Math.max(...positive) / Math.min(...positive) >= 30;
}

/** An axis for a setting or metric. @param {string} key @param {string} label @param {any[]} values @returns {Axis} */
export function axisOf(key, label, values) {
  const present = values.filter((value) => value !== null && value !== undefined);
  const isNumber = present.length > 0 && present.every((value) => typeof value === "number");
  const categories = isNumber ? [] : [...new Set(present.map(String))].sort();
  return { key, label, isNumber, isLog: isNumber && isWide(present), categories };
}

/** @param {Axis[]} axes @param {Line[]} lines @param {number} colored the axis that gives the colour */
export function parallel(axes, lines, colored) {
  return (colors) => {
    const numbers = lines.map((line) => line.values[colored]).filter((value) => typeof value === "number");
    return {
      tooltip: {
        ...tooltip(colors),
        trigger: "item",
        formatter: ({ dataIndex }) =>
          [
            lines[dataIndex].label,
            ...axes.map((axis, at) => `${axis.label}  ${metric(axis.key, lines[dataIndex].values[at])}`),
          ].join("\n"),
      },
      parallel: {
        left: 56,
        right: 70,
        top: 44,
        bottom: 26,
        parallelAxisDefault: {
          nameLocation: "end",
          nameGap: 16,
          nameTextStyle: { color: colors.ink, fontSize: 12.5 },
          axisLine: { lineStyle: { color: colors.c0 } },
          axisTick: { lineStyle: { color: colors.c0 } },
          axisLabel: { color: colors.soft, fontSize: 12, textBorderColor: colors.card, textBorderWidth: 3 },
          areaSelectStyle: { color: colors.s1, opacity: 0.2, borderColor: colors.s1 },
        },
      },
      parallelAxis: axes.map((axis, dim) => ({
        dim,
        nameTextStyle: {
          align: dim === 0 ? "left" : dim === axes.length - 1 ? "right" : "center",
          ...(dim === 0 ? { padding: [0, 0, 0, -40] } : {}),
        },
        name: axis.label.length > 22 ? `${axis.label.slice(0, 21)}…` : axis.label,
        axisLabel: { formatter: (value) => metric(axis.key, value) },
        ...(axis.isNumber
          ? { type: axis.isLog ? "log" : "value", scale: true }
          : { type: "category", data: axis.categories }),
      })),
      ...(numbers.length > 1
        ? {
            visualMap: {
              show: false,
              type: "continuous",
              dimension: colored,
              min: Math.min(...numbers),
              max: Math.max(...numbers),
              inRange: { color: [colors.s6, colors.s2, colors.s1] },
            },
          }
        : {}),
      series: [
        {
          type: "parallel",
          smooth: false,
          inactiveOpacity: 0.06,
          activeOpacity: 1,
          progressive: 0,
          lineStyle: { width: lines.length > 100 ? 1 : 2, opacity: lines.length > 100 ? 0.35 : 0.75, color: colors.s1 },
          emphasis: { lineStyle: { width: 3.5, opacity: 1 } },
          data: lines.map((line) =>
            line.values.map((value, at) => (axes[at].isNumber ? (value ?? Number.NaN) : String(value))),
          ),
        },
      ],
    };
  };
}
