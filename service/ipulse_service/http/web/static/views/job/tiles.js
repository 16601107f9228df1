// The tiles of a Poplar program: the fullest ones, memory by category, and the most expensive steps.
import { html, nothing } from "../../vendor.js";
import { bytes, number, percent } from "../../lib/format.js";

const MOST_TILES = 256; // drawn
const MOST_STEPS = 15;

/** @param {any} document poplar_profile.json */
export function TileView(document) {
  const { compilation, emulated } = document;
  const { target, tiles, fullestTile } = compilation;
  const totals = tiles.map((tile) => tile.memory.total.includingGaps ?? tile.memory.total.excludingGaps);
  const capacity = target.bytesPerTile;
  const sorted = [...totals].sort((a, b) => b - a);
  const shown = sorted.filter((_, at) => at % Math.max(1, Math.ceil(sorted.length / MOST_TILES)) === 0);
  const sums = new Map();
  for (const tile of tiles) for (const [name, { total }] of Object.entries(tile.memory.category)) sums.set(name, (sums.get(name) ?? 0) + total);
  const categories = [...sums].filter(([, size]) => size).sort((a, b) => b[1] - a[1]);
  const all = totals.reduce((sum, size) => sum + size, 0) || 1;
  const known = emulated ? "emulated" : "measured";
  return html`<section class="section"><h2>Tiles <span class="soft">${number(target.numTiles)} of ${bytes(capacity)}, ${known}</span></h2>
    <p>The fullest tile, number ${fullestTile.tile}, uses ${bytes(Math.max(...totals))}, ${percent(Math.max(...totals) / capacity)} of its memory.</p>
    <div class="columns" role="img" aria-label="Memory of the tiles, the fullest first">${shown.map((size) => html`<i .style=${`height: ${Math.min(100, (100 * size) / capacity)}%`}></i>`)}</div>
    <div class="two section">
      ${table("Memory by category", ["Category", "All tiles", "Share"], categories.map(([name, size]) => [words(name), bytes(size), percent(size / all)]))}
      ${table("Largest variables of the fullest tile", ["Variable", "Size"], fullestTile.variables.slice(0, MOST_STEPS).map(({ name, size }) => [name || "without a name", bytes(size)]))}
    </div>
    ${steps(document)}
  </section>`;
}

/** The most expensive steps of the recorded runs. */
function steps({ compilation, execution }) {
  const programs = new Map(compilation.programs.map((program) => [program._id, program]));
  const spent = (execution?.programs ?? execution?.steps ?? []).map((step) => ({ name: programs.get(step._id ?? step.program)?.name ?? step.name, cycles: step.cycles ?? step.totalCycles }))
    .filter(({ name, cycles }) => name && Number.isFinite(cycles)).sort((a, b) => b.cycles - a.cycles);
  if (!spent.length) return nothing;
  const total = spent.reduce((sum, { cycles }) => sum + cycles, 0);
  return html`<div class="section">${table("Most expensive steps", ["Step", "Cycles", "Share"], spent.slice(0, MOST_STEPS).map(({ name, cycles }) => [name, number(cycles), percent(cycles / total)]))}</div>`;
}

const words = (name) => name.replaceAll(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);

function table(title, heads, rows) {
  return html`<div><h3>${title}</h3><div class="grid-box"><table class="grid"><caption>${title}</caption>
    <thead><tr>${heads.map((head, at) => html`<th scope="col" class=${at ? "number" : ""}>${head}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell, at) => (at ? html`<td class="number" data-label=${heads[at]}>${cell}</td>` : html`<th scope="row" class="wrapped" data-label=${heads[0]}>${cell}</th>`))}</tr>`)}</tbody></table></div></div>`;
}
