// Where time and memory went.
import { api } from "../../lib/api.js";
import { bytes, number, percent } from "../../lib/format.js";
import { duration_ } from "./layers.js";
import { TileView } from "./tiles.js";
import { Tab, artifactOf, contentOf, documentOf, html, notYet, nothing } from "./tab.js";

class Profile extends Tab {
  async load(job, signal) {
    const [profile, tiles, trace] = await Promise.all([
      documentOf(job.id, "profile", signal), this.tiles(job, signal), artifactOf(job.id, "trace", signal)]);
    return { profile, tiles, trace };
  }

  async tiles(job, signal) {
    const file = await artifactOf(job.id, "poplar_profile", signal);
    return file?.name.endsWith(".json") ? api.get(contentOf(job.id, file), { signal }) : null;
  }

  draw({ profile, tiles, trace }) {
    if (!profile) return notYet(this.job, "profile");
    const [run] = profile.execution.runs;
    const { target, kernel } = profile.compilation;
    const total = profile.execution.phases.reduce((sum, phase) => sum + phase.seconds, 0);
    const layers = run.layers?.layers ?? [];
    const emulated = target.emulated ? ", emulated" : "";
    return html`
      <section class="section first"><h2>Summary</h2><dl class="facts-list">
        ${fact("Device", `${target.model ?? target.type}${emulated}, ${number(target.threads ?? 0)} threads`)}
        ${fact("Kernel", kernel.kernel ?? "")}
        ${fact("Speed", run.samples_per_second ? `${number(run.samples_per_second)} samples/s, measured` : "no step in this attempt")}
        ${fact("Peak memory", `${bytes(profile.memory.peakRss.bytes)}, measured`)}
        ${fact("Software", Object.entries(profile.versions).map(([name, version]) => `${name} ${version}`).join(", "))}
      </dl></section>
      <section class="section"><h2>Phases <span class="soft">${duration_(total)}, measured</span></h2>${bar(profile.execution.phases.map(({ name, seconds }) => [name, seconds]))}</section>
      ${run.steps.count ? html`<section class="section"><h2>A training step <span class="soft">${duration_(run.steps.seconds.mean)} on average, measured</span></h2>
        ${bar(run.steps.parts.map(({ name, seconds }) => [name, Math.max(0, seconds.total)]), run.steps.count)}</section>` : nothing}
      ${layers.length ? html`<section class="section"><h2>Layers <span class="soft">forward and backward in a step, measured</span></h2>
        ${bar(layers.map(({ layer, forward, backward }) => [layer === "readout" ? "readout" : `layer ${layer}`, forward + backward]))}</section>` : nothing}
      <section class="section"><h2>Memory</h2>
        <div class="grid-box"><table class="grid"><caption>Memory</caption><thead><tr><th scope="col">Use</th><th scope="col" class="number">Size</th><th scope="col">How it is known</th></tr></thead>
        <tbody>${Object.entries(profile.memory).map(([name, one]) => html`<tr><th scope="row" data-label="Use">${spaced(name)}</th>
          <td class="number" data-label="Size">${bytes(one.bytes)}</td><td class="soft wrapped" data-label="How">${one.how}</td></tr>`)}</tbody></table></div></section>
      ${tiles ? TileView(tiles) : nothing}
      ${trace ? html`<p class="section soft">The time line of the attempt is <a href=${contentOf(this.job.id, trace)} download=${trace.name}>${trace.name}</a>, for
        <code>ui.perfetto.dev</code>.</p>` : nothing}`;
  }
}

const fact = (name, text) => (text ? html`<div><dt>${name}</dt><dd>${text}</dd></div>` : nothing);
const spaced = (name) => name.replaceAll(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`).replace("rss", "memory of the process");

/** A stacked bar with its legend as a list. @param {[string, number][]} parts @param {number} [each] divides the amounts of the legend */
export function bar(parts, each = 1) {
  const total = parts.reduce((sum, [, amount]) => sum + amount, 0) || 1;
  return html`<div class="stack" aria-hidden="true">${parts.map(([, amount], at) => html`<i class="b${at % 8 + 1}" .style=${`flex-grow: ${amount / total}`}></i>`)}</div>
    <ul class="stack-legend">${parts.filter(([, amount]) => amount / total >= 0.0005).map(([name, amount]) => html`<li><i class="b${parts.findIndex(([one]) => one === name) % 8 + 1}"></i>${name}
      <b>${duration_(amount / each)}</b> <span class="soft">${percent(amount / total)}</span></li>`)}</ul>`;
}
customElements.define("ip-job-profile", Profile);
