import * as core from "echarts/core";
import { BarChart, BoxplotChart, HeatmapChart, ParallelChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  GridComponent,
  ParallelComponent,
  TooltipComponent,
  VisualMapComponent,
} from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";

core.use([
  BarChart,
  BoxplotChart,
  HeatmapChart,
  ParallelChart,
  ScatterChart,
  AriaComponent,
  GridComponent,
  ParallelComponent,
  TooltipComponent,
  VisualMapComponent,
  CanvasRenderer,
]);
export const { init } = core;
