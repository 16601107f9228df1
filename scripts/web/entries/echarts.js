import * as core from "echarts/core";
import { BarChart, CustomChart, HeatmapChart, LineChart, ParallelChart, ScatterChart } from "echarts/charts";
import { AriaComponent, BrushComponent, DataZoomComponent, GridComponent, LegendComponent, ParallelComponent, ToolboxComponent, TooltipComponent, VisualMapComponent } from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";

core.use([BarChart, CustomChart, HeatmapChart, LineChart, ParallelChart, ScatterChart, AriaComponent, BrushComponent, DataZoomComponent,
  GridComponent, LegendComponent, ParallelComponent, ToolboxComponent, TooltipComponent, VisualMapComponent, CanvasRenderer]);
export const { init, graphic } = core;
