// Rasters of events or spikes, and images of values, as options of a chart.
import { number } from "../lib/format.js";

const between = (low, value, high) => Math.max(low, Math.min(high, value));

/**
 * A mark for each event.
 * @param {object} events
 * @param {number[]} events.x times or steps @param {number[]} events.y channels or neurons
 * @param {number} events.end of the x axis @param {number} events.rows number of channels or neurons
 * @param {string} events.color name of a colour @param {number} events.height of the picture in pixels
 * @param {string} [events.unit] of the x axis; without it the picture has no axes, and row 0 is at the top
 */
export function raster({ x, y, end, rows, color, height, unit }) {
  const hasAxes = unit !== undefined;
  const tall = hasAxes ? height - 40 : height;
  return (colors) => {
    const axis = {
      axisLabel: { color: colors.soft, formatter: number },
      axisLine: { lineStyle: { color: colors.grid } },
      splitLine: { show: false },
    };
    return {
      grid: hasAxes
        ? { left: 48, right: 16, top: 10, bottom: 30, show: true, borderColor: colors.grid }
        : { left: 0, right: 0, top: 0, bottom: 0 },
      xAxis: {
        ...axis,
        type: "value",
        min: 0,
        max: end || 1,
        show: hasAxes,
        name: unit ?? "",
        nameLocation: "end",
        nameGap: -14,
        nameTextStyle: { verticalAlign: "top", padding: [22, 0, 0, 0] },
      },
      yAxis: {
        ...axis,
        axisLabel: { color: colors.soft, formatter: (row) => (Number.isInteger(row) ? number(row) : "") },
        type: "value",
        min: -0.5,
        max: rows - 0.5,
        show: hasAxes,
        inverse: !hasAxes,
        minInterval: 1,
      },
      series: [
        {
          type: "scatter",
          symbol: "rect",
          silent: true,
          itemStyle: { color: colors[color] },
          large: x.length > 5000,
          symbolSize: hasAxes
            ? between(1.6, tall / rows, 4)
            : [between(1.2, 700 / (end || 1), 8), Math.max(1.4, (0.9 * tall) / rows)],
          data: x.map((time, at) => [time, y[at]]),
        },
      ],
    };
  };
}

/** An image: a cell for each value. @param {number[]} values @param {number} rows @param {number} columns */
export function image(values, rows, columns) {
  return (colors) => ({
    grid: { left: 10, right: 10, top: 10, bottom: 10 },
    xAxis: { type: "category", data: Array.from({ length: columns }, (_, at) => at), show: false },
    yAxis: { type: "category", data: Array.from({ length: rows }, (_, at) => at), show: false, inverse: true },
    visualMap: {
      show: false,
      min: Math.min(...values),
      max: Math.max(...values),
      inRange: { color: [colors.panel, colors.c1] },
    },
    series: [
      {
        type: "heatmap",
        silent: true,
        data: values.map((value, at) => [at % columns, Math.floor(at / columns), value]),
      },
    ],
  });
}
