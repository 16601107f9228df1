// All curves of a job, by epoch, step or time.
import "../../charts/curve.js";
import { updateQuery } from "../../app/router.js";
import { empty } from "../../parts/states.js";
import { Tab, html, nothing } from "./tab.js";
import { charts, curvesOf, isStepLike, titleOf, unitOf } from "./series.js";

const AXES = { epoch: "epoch", step: "step", time: "training time (s)", wall: "time (s)" };

class Metrics extends Tab {
  constructor() {
    super();
    this.filter = ""; // the address follows what is typed, and never the other way while it is typed
  }

  willUpdate(changed) {
    super.willUpdate(changed);
    if (changed.has("route") && !this.querySelector("[type=search]")?.matches(":focus"))
      this.filter = this.route?.query.get("filter") ?? "";
  }

  choose(text) {
    this.filter = text;
    updateQuery({ filter: text });
    this.requestUpdate();
  }

  draw() {
    const { store, job } = this;
    const query = this.route?.query ?? new URLSearchParams();
    const x = /** @type {keyof typeof AXES} */ (Object.hasOwn(AXES, query.get("x") ?? "") ? query.get("x") : "epoch");
    const smooth = Math.min(0.99, Math.max(0, Number(query.get("smooth")) || 0));
    const log = query.get("log") === "y";
    const { filter } = this;
    const all = [...(store?.series.values() ?? [])].filter(({ name }) => name.includes(filter));
    const { groups, flat } = charts(all);
    if (!store?.series.size)
      return empty({ title: "No metrics yet", text: "They appear with the first training step." });
    return html`
      <div class="bar chart-bar" role="toolbar" aria-label="Charts">
        <label class="inline">x axis <select @change=${(event) => updateQuery({ x: event.target.value === "epoch" ? null : event.target.value })}>
          ${Object.entries(AXES).map(([name, words]) => html`<option value=${name} ?selected=${name === x}>${words}</option>`)}</select></label>
        <label class="inline">smoothing <input type="range" min="0" max="0.99" step="0.01" .value=${String(smooth)}
          @input=${(event) => updateQuery({ smooth: Number(event.target.value) || null })}><output>${smooth || "off"}</output></label>
        <label class="check"><input type="checkbox" .checked=${log} @change=${(event) => updateQuery({ log: event.target.checked ? "y" : null })}> log scale</label>
        <label class="inline">filter <input type="search" .value=${filter} placeholder="firing_rate/1" @input=${(event) => this.choose(event.target.value)}></label>
        <a class="button" href="/compare?jobs=${job.id}">Compare</a>
      </div>
      <div class="chart-groups">${groups.map(
        ([
          title,
          list,
        ]) => html`<section class=${list.length > 1 ? "whole" : ""}><h2>${title}</h2><div class="chart-grid">
        ${list.map(
          ([
            kind,
            series,
          ]) => html`<figure class="card"><ip-curve .series=${curvesOf(series, x)} .x=${AXES[x]} .name=${titleOf(kind)} .unit=${unitOf(kind)}
          .log=${log} .smooth=${isStepLike(kind) ? 0 : smooth} group="job"></ip-curve></figure>`,
        )}
      </div></section>`,
      )}</div>
      ${flat.length ? html`<p class="soft section">${flat.join(" · ")}</p>` : nothing}
      ${groups.length || flat.length ? nothing : html`<p class="soft">No metric has “${filter}” in its name.</p>`}`;
  }
}
customElements.define("ip-job-metrics", Metrics);
