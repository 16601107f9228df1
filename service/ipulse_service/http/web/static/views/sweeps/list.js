// The sweeps.
import { html, nothing, repeat } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { maySubmit, who } from "../../app/session.js";
import { View } from "../../app/view.js";
import { label, metric } from "../../lib/format.js";
import { ago } from "../../parts/ago.js";
import { icon } from "../../parts/icon.js";
import { bar } from "../../parts/meter.js";
import { empty } from "../../parts/states.js";
import { nameOf, sweepBadge } from "./words.js";

class SweepsView extends View {
  static poll = 4000;

  heading() {
    return "Sweeps";
  }

  loadKey(route) {
    return route.query.get("page") ?? "";
  }

  async load(route, signal) {
    const query = { page_token: route.query.get("page") };
    const [found] = await Promise.all([api.get("/v1/sweeps", { query, signal }), who()]);
    return found;
  }

  view({ sweeps, next_page_token: next }) {
    if (!sweeps.length) {
      return html`<h1 class="visually-hidden">Sweeps</h1>${empty({
        title: "No sweeps yet",
        text: "A sweep trains one network with many settings and seeds, and shows which is best. Write a spec, then press “Submit as sweep”.",
        ...(maySubmit()
          ? {
              action: { words: "New sweep", href: "/new?sweep=1" },
              command: "ipulse sweep run examples/digits.yaml --vary learning_rate=0.01,0.003 --seeds 3",
            }
          : {}),
      })}`;
    }
    return html`<div class="head"><h1>Sweeps</h1>${maySubmit() ? html`<div class="buttons"><a class="button" href="/new?sweep=1">${icon("plus")}New sweep</a></div>` : nothing}</div>
      <div class="grid-box jobs" tabindex="0" role="region" aria-label="Sweeps"><table class="grid"><caption>Sweeps</caption>
        <thead><tr><th scope="col">Name</th><th scope="col">State</th><th scope="col">Trials</th><th scope="col">Varies</th><th scope="col" class="number">Best</th><th scope="col">Created</th></tr></thead>
        <tbody>${repeat(
          sweeps,
          (sweep) => sweep.id,
          (sweep) => html`<tr>
          <th scope="row"><a class="name" href="/sweeps/${sweep.id}">${sweep.name || "unnamed"}</a> <span class="soft small id">${sweep.id.slice(4, 8)}</span></th>
          <td class="c-state" data-label="State">${sweepBadge(sweep)}</td><td class="c-progress" data-label="Trials">${progress(sweep)}</td>
          <td data-label="Varies"><span>${sweep.parameters.map((pointer) => html`<span class="tag">${nameOf(pointer)}</span> `)}${sweep.parameters.length ? nothing : "seeds only"}</span></td>
          <td class="number" data-label="Best">${sweep.best ? html`${metric(sweep.metric, sweep.best.value)} <span class="soft small">${label(sweep.metric)}</span>` : nothing}</td>
          <td data-label="Created">${ago(sweep.created_at)}</td></tr>`,
        )}</tbody></table></div>
      ${next ? html`<nav class="paging" aria-label="Pages of the list"><span></span><a class="button" href="/sweeps?page=${next}">Older</a></nav>` : nothing}`;
  }
}
customElements.define("ip-sweeps", SweepsView);

/** How many trials have ended, of all. */
export function progress(sweep) {
  const ended = Object.entries(sweep.by_state).reduce(
    (sum, [state, count]) => sum + (state === "running" ? 0 : count),
    0,
  );
  const failed = sweep.by_state.failed ?? 0;
  return html`${bar(sweep.trials ? ended / sweep.trials : 0, "Trials that have ended")}<span class="soft small">${ended} of ${sweep.trials}${failed ? `, ${failed} failed` : ""}</span>`;
}
