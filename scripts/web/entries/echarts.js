import * as core from "echarts/core";
import { HeatmapChart, ParallelChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  GridComponent,
  ParallelComponent,
  TooltipComponent,
  VisualMapComponent,
} from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";

core.use([
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
