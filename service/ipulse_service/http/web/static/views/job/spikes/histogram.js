// A histogram of firing rates as SVG.
import { html, svg } from "../../../vendor.js";
import { percent } from "../../../lib/format.js";

const BINS = 24;

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
