// The tiles of a Poplar program: the fullest ones, memory by category, and the most expensive steps.
import { html, nothing } from "../../../vendor.js";
import { bytes, count, keyWords, number, percent } from "../../../lib/format.js";
import { KINDS } from "../../profiles/trace_events.js";

const MOST_TILES = 256; // drawn
const MOST_STEPS = 15;

/** @param {any} document poplar_profile.json */
export function tileMemory(document) {
  const { compilation, emulated } = document;
  const { target, tiles, fullestTile } = compilation;
  const totals = tiles.map((tile) => tile.memory.total.includingGaps ?? tile.memory.total.excludingGaps);
  const capacity = target.bytesPerTile;
  const sorted = [...totals].sort((a, b) => b - a);
  const shown = sorted.filter((_, at) => at % Math.max(1, Math.ceil(sorted.length / MOST_TILES)) === 0);
  const sums = new Map();
  for (const tile of tiles)
    for (const [name, { total }] of Object.entries(tile.memory.category)) sums.set(name, (sums.get(name) ?? 0) + total);
  const categories = [...sums].filter(([, size]) => size).sort((a, b) => b[1] - a[1]);
  const all = totals.reduce((sum, size) => sum + size, 0) || 1;
  const fullest = totals.indexOf(Math.max(...totals));
  const variables = fullestTile?.variables ?? compilation.alwaysLiveVariables ?? [];
  const known = emulated ? "emulated" : "measured";
  return html`<section class="section"><h2>Tiles <span class="soft">${number(target.numTiles)} of ${bytes(capacity)}, ${known}</span></h2>
    <p>The fullest tile, number ${number(fullest)}, uses ${bytes(Math.max(...totals))}, ${percent(Math.max(...totals) / capacity)} of its memory.</p>
    <div class="columns" role="img" aria-label="Memory of the tiles, the fullest first">${shown.map((size) => html`<i .style=${`height: ${Math.min(100, (100 * size) / capacity)}%`}></i>`)}</div>
    <div class="two section">
      ${table(
        "Memory by category",
        ["Category", "All tiles", "Share"],
        categories.map(([name, size]) => [keyWords(name), bytes(size), percent(size / all)]),
      )}
      ${table(
        fullestTile ? "Largest variables of the fullest tile" : "Largest variables",
        ["Variable", "Size"],
        variables.slice(0, MOST_STEPS).map(({ name, size }) => [name || "without a name", bytes(size)]),
      )}
    </div>
    ${compilation.tileMapping ? layersOnTiles(compilation.tileMapping) : nothing}
  </section>`;
}

/** How the layers are laid over the tiles. @param {any} mapping */
function layersOnTiles({ mapping, split, layers, load_balance: balance, tiles_used: used, weight_bytes: each = 4 }) {
  const most = Math.max(...layers.map(({ work }) => work));
  const rows = layers.map((layer, at) => [
    at > 0 && at + 1 === layers.length ? "Readout" : `Layer ${at + 1}`,
    layer.ipus.join(", "),
    number(layer.tiles),
    number(layer.neurons),
    number(layer.most_neurons),
    bytes(each * layer.most_neurons * layer.weights_per_neuron),
    percent(layer.work / most),
  ]);
  return html`<div class="section">${table("Layers on tiles", ["Layer", "IPU", "Tiles", "Neurons", "Neurons per tile", "Weights per tile", "Work of the busiest tile"], rows)}
    <p class="soft">Mapping ${mapping}, split ${split}. Load balance ${percent(balance)}: the planned work of the mean tile relative to the busiest of the ${number(used)} tiles that have neurons.</p></div>`;
}

/**
 * The cycles by kind, and the most expensive steps, of all runs.
 * @param {any} document poplar_profile.json
 * @param {any} copies between host and device
 */
export function tileCycles({ compilation, execution, emulated }, copies) {
  const names = new Map(compilation.programs.map((program) => [program._id, program.name || program.type]));
  const spent = (execution?.totals ?? [])
    .map((step) => ({
      name: names.get(step.program) ?? "?",
      ...step,
      cycles: KINDS.reduce((sum, kind) => sum + step[`${kind}Cycles`], 0),
    }))
    .sort((a, b) => b.cycles - a.cycles);
  const total = spent.reduce((sum, { cycles }) => sum + cycles, 0);
  if (!total) return nothing;
  const kinds = KINDS.map((kind) => [kind, spent.reduce((sum, step) => sum + step[`${kind}Cycles`], 0)]);
  return html`<section class="section"><h2>Program on the tiles <span class="soft">${emulated ? "emulated" : "measured"}</span></h2><p>${count(total)} cycles: ${kinds
    .filter(([, sum]) => sum)
    .map(([kind, sum]) => `${kind} ${percent(sum / total)}`)
    .join(", ")}.</p>
    ${table(
      "Most expensive steps",
      ["Step", "Executions", "Cycles", "Share"],
      spent
        .slice(0, MOST_STEPS)
        .map((step) => [step.name, count(step.executions), count(step.cycles), percent(step.cycles / total)]),
    )}
    ${hostCopies(copies, total)}</section>`;
}

/** @param {{copies: any[], problem?: string}} found by direction @param {number} total the cycles of all steps */
function hostCopies({ copies, problem }, total) {
  if (problem) return html`<p class="problem">Copies between host and device: ${problem}</p>`;
  const rows = copies.map((each) => [
    each.is_to_host ? "To the host" : "To the device",
    count(each.executions),
    bytes(each.total_bytes),
    count(each.cycles),
    percent(each.cycles / total),
  ]);
  return rows.length
    ? table("Copies between host and device", ["Direction", "Copies", "Bytes", "Cycles", "Share"], rows)
    : nothing;
}

function table(title, heads, rows) {
  return html`<div><h3>${title}</h3><div class="grid-box"><table class="grid"><caption>${title}</caption>
    <thead><tr>${heads.map((head, at) => html`<th scope="col" class=${at ? "number" : ""}>${head}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell, at) => (at ? html`<td class="number" data-label=${heads[at]}>${cell}</td>` : html`<th scope="row" class="wrapped" data-label=${heads[0]}>${cell}</th>`))}</tr>`)}</tbody></table></div></div>`;
}
