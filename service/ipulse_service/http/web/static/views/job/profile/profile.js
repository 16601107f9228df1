// Where time and memory went.
import "../../profiles/liveness.js";
import "../../profiles/program_tree.js";
import "../../profiles/time_line.js";
import "../../profiles/trace.js";
import { updateQuery } from "../../../app/router.js";
import { api } from "../../../lib/api.js";
import { PHASES, bytes, duration, elapsed, keyWords, number, percent, shortDuration } from "../../../lib/format.js";
import { icon } from "../../../parts/icon.js";
import { livenessOf } from "../../profiles/liveness.js";
import { treeOf } from "../../profiles/program_tree.js";
import { ofPoplar } from "../../profiles/trace_events.js";
import { tileCycles, tileMemory } from "./tiles.js";
import { Tab, contentOf, html, notYet, nothing } from "../tab.js";

/** The parts of the tab, their words, and what they need. */
/** @type {[string, string, (loaded: any) => any][]} the parts and what they need */
const PARTS = [
  ["summary", "Summary", () => true],
  ["memory", "Memory", () => true],
  ["liveness", "Liveness", ({ liveness }) => liveness],
  ["program", "Program tree", ({ tree }) => tree],
  ["trace", "Execution trace", ({ poplar }) => poplar],
  ["timeline", "Time line", ({ trace }) => trace],
];

class Profile extends Tab {
  async load(job, signal) {
    const { artifacts } = await api.get(`/v1/jobs/${job.id}/artifacts`, { signal });
    const file = (role) => artifacts.find((one) => one.role === role) ?? null;
    const read = (one) => (one ? api.get(contentOf(job.id, one), { signal }) : null);
    const ofTiles = file("poplar_profile");
    const [profile, tiles] = await Promise.all([
      read(file("profile")),
      ofTiles?.name.endsWith(".json") ? read(ofTiles) : null,
    ]);
    const copies = tiles?.execution
      ? await api
          .get("/v1/profiles:copies", { query: { job: job.id }, signal })
          .catch((error) => ({ copies: [], problem: error.message }))
      : { copies: [] };
    return {
      profile,
      tiles,
      copies,
      trace: file("trace"),
      liveness: tiles && livenessOf(tiles),
      tree: tiles && treeOf(tiles),
      poplar: tiles && ofPoplar(tiles),
    };
  }

  /** The id of the program that all parts show. */
  get program() {
    const text = this.route?.query.get("program");
    return text && /^\d+$/.test(text) ? Number(text) : null;
  }

  choose(id) {
    updateQuery({ program: id });
  }

  draw(loaded) {
    const { profile } = loaded;
    if (!profile && !loaded.tiles) return notYet(this.job, "profile"); // a program has only that of its tiles
    const parts = PARTS.filter(([, , has]) => has(loaded));
    const named = this.route?.query.get("part");
    const part = parts.some(([name]) => name === named) ? named : "summary";
    return html`
      <div class="bar"><nav class="parts" aria-label="Parts of the profile">${parts.map(([name, words]) => html`<a href="/jobs/${this.job.id}/profile${query(name, this.program)}" aria-current=${name === part ? "page" : nothing}>${words}</a>`)}</nav>
        <a class="button right" href="/profiles/diff?b=${this.job.id}${this.job.start_from ? `&a=${this.job.start_from.job}` : ""}">${icon("compare")}Compare profiles</a></div>
      ${this.content(part, loaded)}`;
  }

  content(part, { profile, tiles, copies, trace, liveness, tree, poplar }) {
    switch (part) {
      case "memory":
        return html`${profile ? this.memory(profile) : nothing}${tiles ? tileMemory(tiles) : nothing}`;
      case "liveness":
        return html`<h2>Memory over time <span class="soft">${known(tiles)}</span></h2>
        <ip-liveness .liveness=${liveness} .program=${this.program} @choose=${(event) => this.choose(event.detail)}></ip-liveness>`;
      case "program":
        return html`<h2>Program tree <span class="soft">cycles of all runs, ${known(tiles)}</span></h2>
        <ip-program-tree .tree=${tree} .selected=${this.program} @choose=${(event) => this.choose(event.detail)}></ip-program-tree>`;
      case "trace":
        return html`<h2>Execution trace <span class="soft">the first runs of the engine, ${known(tiles)}</span></h2>
        <ip-trace .trace=${poplar} .find=${this.find(tree)} @choose=${(event) => this.search(event.detail, tree)}></ip-trace>
        ${tiles.execution.runs.some((run) => run.truncated) ? html`<p class="soft small">Only the first steps of a run are recorded.</p>` : nothing}`;
      case "timeline":
        return html`<h2>Time line of the attempt <span class="soft">measured</span></h2>
        <ip-time-line .job=${this.job} .file=${trace}></ip-time-line>`;
      default:
        return html`${profile ? this.summary(profile) : nothing}${tiles ? tileCycles(tiles, copies) : nothing}`;
    }
  }

  /** The name of the selected program, or the words of the search. */
  find(tree) {
    return this.words ?? tree.programs.get(this.program)?.name ?? "";
  }

  search(words, tree) {
    const match = [...tree.programs.values()].find(({ name, children }) => name === words && !children.length);
    this.words = match ? undefined : words;
    this.choose(match ? match.id : null);
    this.requestUpdate();
  }

  summary(profile) {
    const [run] = profile.execution.runs;
    const { target, kernel } = profile.compilation;
    const layers = run.layers?.layers ?? [];
    const emulated = target.emulated ? ", emulated" : "";
    return html`
      <section class="section first"><h2>Summary</h2><dl class="facts-list">
        ${fact("Device", `${target.model ?? target.type}${emulated}, ${number(target.threads ?? 0)} threads`)}
        ${fact("Kernel", kernel.kernel ?? "")}
        ${fact("Speed", run.samples_per_second ? `${number(run.samples_per_second)} samples/s, measured` : "no step in this attempt")}
        ${fact("Peak memory", `${bytes(profile.memory.peakRss.bytes)}, measured`)}
        ${fact(
          "Software",
          Object.entries(profile.versions)
            .map(([name, version]) => `${name} ${version}`)
            .join(", "),
        )}
      </dl></section>
      ${
        run.steps.count
          ? html`<section class="section"><h2>A training step <span class="soft">${shortDuration(run.steps.seconds.mean)} on average, measured</span></h2>
        ${bar(
          run.steps.parts.map(({ name, seconds }) => [name, Math.max(0, seconds.total)]),
          run.steps.count,
        )}</section>`
          : nothing
      }
      ${
        layers.length
          ? html`<section class="section"><h2>Layers <span class="soft">forward and backward, shares of a step, measured</span></h2>
        ${bar(shareOfStep(layers, run.steps.seconds.mean))}</section>`
          : nothing
      }
      <section class="section"><h2>Phases <span class="soft">shares of the job's ${duration(elapsed(this.job))}, without the queue</span></h2>${bar(phasesOf(this.job))}</section>`;
  }

  memory(profile) {
    return html`<section class="section first"><h2>Memory of the process</h2>
      <div class="grid-box"><table class="grid"><caption>Memory</caption><thead><tr><th scope="col">Use</th><th scope="col" class="number">Size</th><th scope="col">Source</th></tr></thead>
      <tbody>${Object.entries(profile.memory).map(
        ([name, one]) => html`<tr><th scope="row" data-label="Use">${keyWords(name)}</th>
        <td class="number" data-label="Size">${bytes(one.bytes)}</td><td class="soft wrapped" data-label="Source">${one.how}</td></tr>`,
      )}</tbody></table></div></section>`;
  }
}

/** The layers' seconds in a step, and what is outside them. @returns {[string, number][]} */
function shareOfStep(layers, step) {
  /** @type {[string, number][]} */
  const parts = layers.map(({ layer, name, forward, backward }) => [
    name ?? (layer === "readout" ? "readout" : `layer ${layer}`), // of jobs of earlier releases
    forward + backward,
  ]);
  const rest = (step ?? 0) - parts.reduce((sum, [, seconds]) => sum + seconds, 0);
  return rest > 0 ? [...parts, ["outside the layers", rest]] : parts;
}

/** The phases that have ended, as the head of the job shows them. @returns {[string, number][]} */
const phasesOf = (job) =>
  PHASES.filter((name) => job.phase_seconds[name] !== undefined).map((name) => [name, job.phase_seconds[name]]);

const known = (tiles) => (tiles.emulated ? "emulated" : "measured");

function query(part, program) {
  const text = new URLSearchParams({
    ...(part === "summary" ? {} : { part }),
    ...(program === null ? {} : { program: String(program) }),
  }).toString();
  return text && `?${text}`;
}

const fact = (name, text) => (text ? html`<div><dt>${name}</dt><dd>${text}</dd></div>` : nothing);

/**
 * A stacked bar with its legend as a list.
 * @param {[string, number][]} parts
 * @param {number} [each] divides the amounts of the legend
 */
export function bar(parts, each = 1) {
  const total = parts.reduce((sum, [, amount]) => sum + amount, 0) || 1;
  return html`<div class="stack" aria-hidden="true">${parts.map(([, amount], at) => html`<i class="b${(at % 8) + 1}" .style=${`flex-grow: ${amount / total}`}></i>`)}</div>
    <ul class="stack-legend">${parts
      .filter(([, amount]) => amount / total >= 0.0005)
      .map(
        ([name, amount]) => html`<li><i class="b${(parts.findIndex(([one]) => one === name) % 8) + 1}"></i>${name}
      <b>${shortDuration(amount / each)}</b> <span class="soft">${percent(amount / total)}</span></li>`,
      )}</ul>`;
}
customElements.define("ip-job-profile", Profile);
