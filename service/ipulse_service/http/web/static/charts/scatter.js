// A scatter plot of two settings or metrics; one point a job.
import { metric } from "../lib/format.js";
import { tooltip } from "./chart.js";

/**
 * @param {import("./parallel.js").Axis} x @param {import("./parallel.js").Axis} y
 * @param {{id: string, label: string, x: any, y: any, color: string}[]} points
 */
export function scatter(x, y, points) {
  return (colors) => {
    const axis = (one, extra) => ({
      name: one.label,
      nameLocation: "middle",
      nameTextStyle: { color: colors.ink, fontSize: 12.5 },
      ...(one.isNumber
        ? { type: one.isLog ? "log" : "value", scale: true }
        : { type: "category", data: one.categories }),
      axisLabel: {
        color: colors.soft,
        formatter: (value) => (typeof value === "number" ? metric(one.key, value) : value),
      },
      axisLine: { lineStyle: { color: colors.c0 } },
      splitLine: { lineStyle: { color: colors.grid } },
      ...extra,
    });
    return {
      grid: { left: 62, right: 20, top: 16, bottom: 46, containLabel: false },
      tooltip: {
        ...tooltip(colors),
        formatter: ({ dataIndex }) => {
          const point = points[dataIndex];
          return `${point.label}\n${x.label}  ${metric(x.key, point.x)}\n${y.label}  ${metric(y.key, point.y)}`;
        },
      },
      xAxis: axis(x, { nameGap: 28 }),
      yAxis: axis(y, { nameGap: 44 }),
      series: [
        {
          type: "scatter",
          symbolSize: points.length > 200 ? 6 : 11,
          cursor: "pointer",
          data: points.map((point) => ({
            value: [point.x, point.y],
            itemStyle: { color: colors[point.color.replace("--", "")] ?? colors.s1, opacity: 0.85 },
          })),
        },
      ],
    };
  };
}
