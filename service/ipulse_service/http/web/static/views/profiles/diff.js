// The difference of two jobs' profiles: time, memory, and the tiles of their programs.
import "../../charts/curve.js";
import { html, nothing } from "../../vendor.js";
import { View } from "../../app/view.js";
import { navigate, updateQuery } from "../../app/router.js";
import { api } from "../../lib/api.js";
import { bytes, count, isolated, number, shortDuration } from "../../lib/format.js";
import { fullId } from "../../lib/ids.js";
import { icon } from "../../parts/icon.js";
import { changeTable, relative } from "./changes.js";

const CYCLES = (value) => `${count(value)} cycles`;
const FIGURE_UNITS = { max_tile_memory: bytes, total_memory: bytes, always_live_memory: bytes, tile_balance: number };
const FIGURE_GAINS = { tile_balance: true }; // more is better

class ProfileDiff extends View {
  loadKey(route) {
    return `${route.query.get("a")}|${route.query.get("b")}`;
  }

  get isWhole() {
    return this.route.query.get("equal") === "show";
  }

  async load(route, signal) {
    const [a, b] = ["a", "b"].map((name) => route.query.get(name));
    if (!a || !b)
      return {
        latest: (await api.get("/v1/jobs", { query: { q: "state:succeeded", page_size: 50 }, signal })).jobs,
        a,
        b,
      };
    const ids = await Promise.all([a, b].map((text) => fullId(text, signal)));
    return { diff: await api.get("/v1/profiles:diff", { query: { a: ids[0], b: ids[1] }, signal }) };
  }

  heading({ diff }) {
    return diff ? `${diff.a.name || diff.a.id} and ${diff.b.name || diff.b.id} · Profiles` : "Compare profiles";
  }

  view({ diff, latest, a, b }) {
    if (!diff) return this.question(latest, a, b);
    const { tiles } = diff;
    const whole = this.isWhole;
    return html`
      <div class="head"><h1>Profiles compared</h1><div class="buttons">
        <button type="button" aria-pressed=${String(whole)} @click=${() => updateQuery({ equal: whole ? null : "show" })}>Show what is equal</button>
        <button type="button" @click=${() => updateQuery({ a: diff.b.id, b: diff.a.id })}>Swap</button>
        <a class="button" href="/compare?jobs=${diff.a.id},${diff.b.id}">${icon("compare")}Compare results</a></div></div>
      <dl class="sides">${side("A, the baseline", diff.a)}${side("B", diff.b)}</dl>
      ${diff.unlike.length ? html`<p class="note">The programs ran on unlike targets, so their cycles and tiles differ for that reason, too: ${diff.unlike.join("; ")}.</p>` : nothing}
      ${this.headline(diff)}
      ${changeTable("A training step", "mean seconds of each part, measured", diff.step, shortDuration, { whole })}
      ${changeTable("Layers", "mean seconds in a step, measured", diff.layers, shortDuration, { whole })}
      ${tiles ? this.tiles(tiles, whole) : nothing}
      ${changeTable("Memory", "bytes by use", diff.memory, bytes, { whole })}
      ${changeTable("Phases", "seconds of the attempt, measured", diff.phases, shortDuration, { whole })}
      <p class="soft small section">Measured seconds of one attempt each: other programs on the machine change them by some percent. Cycles and bytes of the emulator are exact.</p>`;
  }

  /** The few figures that answer "is it better?". */
  headline({ speed, step, memory, tiles }) {
    const total = ["before", "after"].map((name) => step.changes.reduce((sum, one) => sum + (one[name] ?? 0), 0));
    const peak = memory.changes.find(({ name }) => name === "peakRss");
    const cycles = tiles?.figures.changes.find(({ name }) => name === "cycles");
    const list = [
      ["Samples per second", speed.changes[0]?.before, speed.changes[0]?.after, number, true],
      ["A training step", total[0] || undefined, total[1] || undefined, shortDuration, false],
      ["Cycles of all runs", cycles?.before, cycles?.after, count, false],
      ["Peak memory", peak?.before, peak?.after, bytes, false],
    ].filter(([, before, after]) => before !== undefined && before !== null && after !== undefined && after !== null);
    return list.length
      ? html`<dl class="figures job-figures">${list.map(
          ([words, before, after, text, isGain]) => html`<div><dt>${words}</dt>
      <dd>${relative((after - before) / before, isGain)}</dd><dd class="soft small">${text(before)} → ${text(after)}</dd></div>`,
        )}</dl>`
      : nothing;
  }

  tiles({ figures, layers, programs, tile_memory: memory, tile_cycles: cycles, liveness }, whole) {
    const curves = ["A", "B"].map((label, at) => ({
      id: label,
      label,
      color: `--s${at + 1}`,
      x: liveness[at].map((_, step) => step),
      y: liveness[at].map((size) => size / 1024),
    }));
    return html`
      ${changeTable("Tiles", "cycles of all runs, and memory", figures, (value, name) => (FIGURE_UNITS[name] ?? CYCLES)(value), { whole, gains: FIGURE_GAINS })}
      ${changeTable("Cycles by layer", "steps of several layers are divided between them", layers, count, { whole })}
      ${changeTable("Cycles by program step", "over all runs", programs, count, { whole })}
      ${
        liveness.some((list) => list.length)
          ? html`<section class="section"><h2>Liveness</h2><figure class="card">
        <ip-curve .series=${curves} .x=${"program step"} .name=${"Memory that is not always live"} .unit=${"KiB"}></ip-curve></figure></section>`
          : nothing
      }
      ${changeTable("Memory by tile", "the tiles with the largest change", memory, bytes, { whole, most: 16 })}
      ${changeTable("Compute cycles by tile", "the tiles with the largest change", cycles, count, { whole, most: 16 })}`;
  }

  question(latest, a, b) {
    const go = (event) => {
      event.preventDefault();
      const { elements } = event.target;
      navigate(
        `/profiles/diff?a=${encodeURIComponent(elements.a.value.trim())}&b=${encodeURIComponent(elements.b.value.trim())}`,
      );
    };
    const field = (name, words, value) => html`<label class="field"><span>${words}</span>
      <input name=${name} required autocomplete="off" list="profiled" placeholder="beginning of an id, or latest" .value=${value ?? ""}></label>`;
    return html`<div class="head"><h1>Compare profiles</h1></div>
      <form class="card ask" @submit=${go}>
        <p>Two jobs that have succeeded: where did the time and the memory change?</p>
        ${field("a", "A, the baseline", a)}${field("b", "B", b)}
        <datalist id="profiled">${latest.map((job) => html`<option value=${job.id.slice(4, 12)}>${isolated(job.name) || "unnamed"}, ${job.device}</option>`)}</datalist>
        <button type="submit" class="primary">Compare</button>
      </form>`;
  }
}

function side(words, job) {
  return html`<div><dt>${words}</dt><dd><a href="/jobs/${job.id}/profile">${job.name || "unnamed"}</a> <span class="soft small id">${job.id.slice(4, 8)}</span>
    <span class="soft">${job.device}</span></dd></div>`;
}
customElements.define("ip-profile-diff", ProfileDiff);
