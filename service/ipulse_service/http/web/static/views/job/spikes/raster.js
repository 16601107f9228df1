// Drawings of spikes: a raster on a canvas, and a histogram of rates as SVG.
import { html, ref, svg } from "../../../vendor.js";
import { percent } from "../../../lib/format.js";
import { onTheme } from "../../../lib/theme.js";

const MOST_ROWS = 260; // pixels of height
const BINS = 24;

/** Draws a panel's spikes on the canvas that the template makes, and again when its width or the theme changes. */
export function raster(panel, file) {
  let end = () => {};
  return ref((canvas) => { // without a canvas when this drawing is replaced or removed
    end();
    if (!canvas) return;
    const draw = () => paint(canvas, panel, file.steps);
    const resized = new ResizeObserver(draw);
    resized.observe(canvas);
    const endTheme = onTheme(draw);
    end = () => {
      resized.disconnect();
      endTheme();
    };
    draw();
  });
}

function paint(canvas, { steps, ids, rows }, all) {
  const width = canvas.clientWidth;
  if (!width) return;
  const height = Math.max(44, Math.min(MOST_ROWS, 1.4 * rows));
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(canvas).getPropertyValue("color");
  const markWidth = Math.max(1.2, Math.min(8, (0.7 * width) / all)) * scale;
  const markHeight = Math.max(1.4, (0.9 * height) / rows) * scale;
  for (let at = 0; at < steps.length; at += 1) {
    context.fillRect(((steps[at] + 0.5) * canvas.width) / all - markWidth / 2, ((ids[at] + 0.5) * canvas.height) / rows - markHeight / 2, markWidth, markHeight);
  }
}

/** How many neurons have which firing rate. @param {number[]} rates @param {string} title */
export function histogram(rates, title) {
  const most = Math.max(...rates, 1e-6);
  const bins = new Array(BINS).fill(0);
  for (const rate of rates) bins[Math.min(BINS - 1, Math.floor((rate / most) * BINS))] += 1;
  const tallest = Math.max(...bins);
  return html`<svg class="histogram" viewBox="0 0 240 70" role="img" aria-label="${title}: number of neurons by firing rate, up to ${percent(most)}" preserveAspectRatio="none">
      ${bins.map((count, at) => svg`<rect x=${at * 10 + 0.5} width="9" y=${70 - (68 * count) / tallest} height=${(68 * count) / tallest}><title>${count} neurons: ${percent((at * most) / BINS)} to ${percent(((at + 1) * most) / BINS)}</title></rect>`)}
    </svg><p class="soft small ends"><span>0</span><span>spikes per step: ${percent(most)}</span></p>`;
}
