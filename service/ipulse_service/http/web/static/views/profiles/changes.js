// A table of values before and after, the largest change first.
import { html, nothing } from "../../vendor.js";
import { keyWords } from "../../lib/format.js";

const MOST = 25;

/**
 * +12 %, −3 %; better ones green, worse ones red.
 * @param {number | null} share
 * @param {boolean} [isGain] whether more is better
 */
export function relative(share, isGain = false) {
  if (share === null || share === undefined || !Number.isFinite(share)) return html`<span class="soft">new</span>`;
  const percent = 100 * share;
  const text =
    Math.abs(percent) < 0.05
      ? "±0 %"
      : `${percent > 0 ? "+" : "−"}${Math.abs(percent) < 10 ? Math.abs(percent).toFixed(1) : Math.round(Math.abs(percent)).toLocaleString("en")} %`;
  const kind = Math.abs(percent) < 0.05 ? "soft" : percent > 0 === isGain ? "good" : "bad";
  return html`<span class="nowrap ${kind}">${text}</span>`;
}

/**
 * @param {string} title @param {string} what @param {{total: number, changes: any[]}} list
 * @param {(value: number, name: string) => string} text shows a value
 * @param {{whole: boolean, most?: number, gains?: Record<string, boolean>}} options `whole`: also what is equal
 */
export function changeTable(title, what, list, text, { whole, most = MOST, gains = {} }) {
  if (!list.total) return nothing;
  const rows = [...list.changes]
    .filter((one) => whole || one.change !== 0)
    .sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
  if (!rows.length)
    return html`<section class="section"><h2>${title}</h2><p class="soft">Nothing differs.</p></section>`;
  const largest = Math.abs(rows[0].change) || 1;
  const shown = rows.slice(0, most);
  return html`<section class="section"><h2>${title} <span class="soft">${what}</span></h2>
    <div class="grid-box"><table class="grid changes"><caption>${title}</caption>
      <thead><tr><th scope="col">Name</th><th scope="col" class="number">A</th><th scope="col" class="number">B</th><th scope="col" class="number">Change</th><th scope="col" class="number">Relative</th><th scope="col" class="wide-only"><span class="visually-hidden">Size of the change</span></th></tr></thead>
      <tbody>${shown.map(
        (one) => html`<tr><th scope="row" class="wrapped" data-label="Name">${keyWords(one.name)}</th>
        <td class="number" data-label="A">${one.before === null ? "—" : text(one.before, one.name)}</td><td class="number" data-label="B">${one.after === null ? "—" : text(one.after, one.name)}</td>
        <td class="number" data-label="Change">${one.change === 0 ? "" : `${one.change > 0 ? "+" : "−"}${text(Math.abs(one.change), one.name)}`}</td>
        <td class="number" data-label="Relative">${one.after === null ? html`<span class="soft">gone</span>` : relative(one.change === 0 ? 0 : one.relative, gains[one.name])}</td>
        <td class="wide-only size"><span class="meter" aria-hidden="true"><span .style=${`width: ${(100 * Math.abs(one.change)) / largest}%`}></span></span></td></tr>`,
      )}</tbody></table></div>
    ${list.total > shown.length && rows.length > shown.length ? html`<p class="soft small">The ${shown.length} largest of ${list.total.toLocaleString("en")} changes.</p>` : nothing}
  </section>`;
}
