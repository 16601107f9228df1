// Memory over time: what is live at each step of the program, and which variables.
import { LitElement, html, nothing, svg } from "../../vendor.js";
import { bytes, number, percent } from "../../lib/format.js";

const WIDTH = 1000;
const HEIGHT = 200;

/**
 * @typedef {{program: number, name: string, bytes: number, tileBytes: number, tile: number, variables: {name: string,
 * size: number}[]}} LiveStep
 * @typedef {{base: number, tileBase: (tile: number) => number, steps: LiveStep[]}} Liveness
 */

/** @param {any} document poplar_profile.json @returns {Liveness | null} */
export function livenessOf({ compilation }) {
  const list = compilation.livenessProgramSteps ?? [];
  if (!list.length) return null;
  const names = new Map(compilation.programs.map((program) => [program._id, program.name || program.type]));
  const steps = list.map(({ program, notAlwaysLiveMemory: live }) => ({
    program,
    name: names.get(program) ?? `step ${program}`,
    bytes: live.bytes,
    tileBytes: live.maxTileBytes ?? 0,
    tile: live.tile ?? 0,
    variables: live.variables ?? [],
  }));
  const { tiles } = compilation;
  return {
    base: tiles.reduce((sum, tile) => sum + (tile.memory.alwaysLiveBytes ?? 0), 0),
    tileBase: (tile) => tiles[tile]?.memory.alwaysLiveBytes ?? 0,
    steps,
  };
}

class LivenessView extends LitElement {
  static properties = {
    liveness: { attribute: false },
    program: { attribute: false },
    at: { state: true },
    isTile: { state: true },
    hasBase: { state: true },
    variable: { state: true },
  };

  constructor() {
    super();
    /** @type {Liveness | null} */
    this.liveness = null;
    this.program = null; // the id of the program that the page has selected
    this.at = null; // the step that is shown; null: the peak
    this.isTile = false;
    this.hasBase = false; // whether the picture has what is always live
    this.variable = ""; // its lifetime is marked
  }

  createRenderRoot() {
    return this;
  }

  willUpdate(changed) {
    if (changed.has("liveness") && changed.get("liveness")) this.at = null;
    if (changed.has("program") && this.program !== null && this.liveness) {
      const at = this.liveness.steps.findIndex(({ program }) => program === this.program);
      if (at >= 0) this.at = at;
    }
  }

  total(step) {
    return this.isTile ? this.liveness.tileBase(step.tile) + step.tileBytes : this.liveness.base + step.bytes;
  }

  baseOf(step) {
    return this.isTile ? this.liveness.tileBase(step.tile) : this.liveness.base;
  }

  get peak() {
    const { steps } = this.liveness;
    return steps.reduce((most, step, at) => (this.total(step) > this.total(steps[most]) ? at : most), 0);
  }

  select(event) {
    const box = event.currentTarget.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    this.go(Math.floor(share * this.liveness.steps.length));
  }

  go(at) {
    this.at = Math.max(0, Math.min(this.liveness.steps.length - 1, at));
    this.dispatchEvent(new CustomEvent("choose", { detail: this.liveness.steps[this.at].program, bubbles: true }));
  }

  key_(event) {
    const { length } = this.liveness.steps;
    const at = this.at ?? this.peak;
    const moves = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      ArrowDown: at - 1,
      ArrowUp: at + 1,
      PageUp: at + 20,
      PageDown: at - 20,
      Home: 0,
      End: length - 1,
    };
    if (!(event.key in moves)) return;
    this.go(moves[event.key]);
    event.preventDefault();
  }

  render() {
    if (!this.liveness) return nothing;
    const { steps } = this.liveness;
    const { peak } = this;
    const at = this.at ?? peak;
    const step = steps[at];
    const most = Math.max(1, this.total(steps[peak]));
    const shown = (one) => this.total(one) - (this.hasBase ? 0 : this.baseOf(one));
    const top = Math.max(1, ...steps.map(shown));
    const choice = (words, isTile) =>
      html`<button type="button" aria-pressed=${String(isTile === this.isTile)} @click=${() => {
        this.isTile = isTile;
      }}>${words}</button>`;
    return html`<div class="bar"><span class="buttons" role="group" aria-label="Which memory">${choice("All tiles", false)}${choice("Fullest tile of each step", true)}</span>
        <label class="check"><input type="checkbox" .checked=${this.hasBase} @change=${(event) => {
          this.hasBase = event.target.checked;
        }}> with what is always live</label>
        <button type="button" @click=${() => this.go(peak)}>Go to the peak</button>
        ${
          this.variable
            ? html`<span class="soft small">marked: steps with <code>${this.variable}</code> among the largest</span> <button type="button" class="ghost" @click=${() => {
                this.variable = "";
              }}>Clear</button>`
            : nothing
        }</div>
      <div class="two">
        <div>
          <svg class="liveness" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" tabindex="0" role="slider" aria-label="Step of the program" aria-valuemin="1" aria-valuemax=${steps.length}
            aria-valuenow=${at + 1} aria-valuetext="${step.name}: ${bytes(this.total(step))}" @click=${(event) => this.select(event)} @keydown=${(event) => this.key_(event)}>
            <path class="live" d=${this.area(shown, top)}></path>${this.hasBase ? svg`<path class="base" d=${this.area((one) => this.baseOf(one), top)}></path>` : nothing}
            ${this.variable ? steps.map((one, index) => (one.variables.some(({ name }) => name === this.variable) ? svg`<rect class="lifetime" x=${(index * WIDTH) / steps.length} width=${WIDTH / steps.length} y=${HEIGHT - 6} height="6"></rect>` : nothing)) : nothing}
            <line class="peak" x1=${this.middle(peak)} x2=${this.middle(peak)} y1="0" y2=${HEIGHT}></line><line class="chosen" x1=${this.middle(at)} x2=${this.middle(at)} y1="0" y2=${HEIGHT}></line>
          </svg>
          <p class="soft small ends"><span>step 1</span><span>peak at step ${number(peak + 1)}, height ${bytes(top)}</span><span>step ${number(steps.length)}</span></p>
          <ul class="stack-legend"><li><i class="live"></i>live at this step</li>${this.hasBase ? html`<li><i class="base"></i>always live</li>` : nothing}</ul>
        </div>
        <div><h3>${step.name} <span class="soft">step ${number(at + 1)}</span></h3>
          <p>${bytes(this.total(step))}${this.isTile ? ` on tile ${number(step.tile)}` : ""}, ${percent(this.total(step) / most)} of the peak; ${bytes(this.baseOf(step))} of it always.</p>
          ${
            step.variables.length
              ? html`<table class="plain"><caption class="visually-hidden">The largest variables that are live at this step</caption><thead><tr><th scope="col">Largest variables of this step</th><th scope="col" class="number">Size</th></tr></thead>
            <tbody>${step.variables.map(
              ({
                name,
                size,
              }) => html`<tr><th scope="row"><button type="button" class="ghost" title="Mark the steps that have it" aria-pressed=${String(name === this.variable)}
              @click=${() => {
                this.variable = name === this.variable ? "" : name;
              }}>${name || "without a name"}</button></th><td class="number">${bytes(size)}</td></tr>`,
            )}</tbody></table>`
              : html`<p class="soft">Nothing but what is always live.</p>`
          }</div>
      </div>`;
  }

  middle(at) {
    return ((at + 0.5) * WIDTH) / this.liveness.steps.length;
  }

  /** An area as steps. */
  area(value, most) {
    const { steps } = this.liveness;
    const width = WIDTH / steps.length;
    const edges = steps.map(
      (step, at) => `V${(HEIGHT * (1 - value(step) / most)).toFixed(1)}H${((at + 1) * width).toFixed(2)}`,
    );
    return `M0 ${HEIGHT}${edges.join("")}V${HEIGHT}Z`;
  }
}
customElements.define("ip-liveness", LivenessView);
