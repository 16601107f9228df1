// What can be done with the selected jobs.
import { html, nothing } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { isOver, mayPause } from "../../lib/format.js";
import { askDialog, confirmDialog } from "../../parts/dialog.js";
import { icon } from "../../parts/icon.js";
import { menu } from "../../parts/menu.js";
import { toast } from "../../parts/toast.js";

const AT_ONCE = 4; // requests

/** Calls `act` for each job; says how many succeeded and why the first other one did not. */
async function each(view, done, act) {
  const jobs = [...view.selection.jobs.values()];
  const problems = [];
  const rest = [...jobs];
  const gone = [];
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let job = rest.shift(); job; job = rest.shift()) {
      try {
        await act(job);
        gone.push(job.id);
      } catch (error) {
        problems.push(`${job.name || job.id}: ${error.message}`);
      }
    }
  }));
  const count = jobs.length - problems.length;
  toast(`${count} ${done}${problems.length ? `. ${problems.length} not. ${problems[0]}` : ""}`, { isBad: count === 0 });
  view.isHeld = false;
  view.reload();
  return gone;
}

const post = (what) => (job) => api.post(`/v1/jobs/${job.id}/${what}`);

async function tag(view) {
  const text = await askDialog({ title: "Tag the selected jobs", label: "Tags, separated by spaces", confirm: "Tag", hint: "A minus removes a tag: -old" });
  if (!text) return;
  const words = text.split(/[\s,]+/).filter(Boolean);
  const body = { add_tags: words.filter((word) => !word.startsWith("-")), remove_tags: words.filter((word) => word.startsWith("-")).map((word) => word.slice(1)) };
  await each(view, "tagged", (job) => api.patch(`/v1/jobs/${job.id}`, body));
}

/** The names of the jobs that a question is about. */
function names(jobs) {
  const rest = jobs.length - 6;
  return html`<ul>${jobs.slice(0, 6).map((job) => html`<li>${job.name || job.id}</li>`)}${rest > 0 ? html`<li>and ${rest} more</li>` : nothing}</ul>`;
}

async function remove(view) {
  const jobs = [...view.selection.jobs.values()];
  const isSure = await confirmDialog({
    title: `Delete ${jobs.length === 1 ? "this job" : `these ${jobs.length} jobs`}?`, danger: true, confirm: "Delete",
    text: html`${names(jobs)}<p>Their events, logs and files are deleted, too. A job that has not ended is refused: cancel it first.</p>`,
  });
  if (isSure) view.selection.remove(await each(view, "deleted", (job) => api.delete(`/v1/jobs/${job.id}`)));
}

async function cancel(view) {
  const jobs = [...view.selection.jobs.values()];
  const isSure = await confirmDialog({
    title: `Cancel ${jobs.length === 1 ? "this job" : `these ${jobs.length} jobs`}?`, danger: true, confirm: "Cancel jobs",
    text: html`${names(jobs)}<p>They end without a report. “Stop and keep” ends a training with its results.</p>`,
  });
  if (isSure) await each(view, "cancelled", post("cancel"));
}

async function selectAll(view) {
  const { q, sort, data } = view;
  for (let skip = 0; skip < Math.min(2000, data.total); skip += 500) {
    const { jobs } = await api.get("/v1/jobs", { query: { q, sort, page_size: 500, skip } });
    view.selection.setAll(jobs, true);
  }
  if (data.total > 2000) toast("The first 2,000 are selected.");
}

/** The bar below the table while jobs are selected. */
export function actionBar(view) {
  const { selection, data } = view;
  if (!selection.size) return nothing;
  const jobs = [...selection.jobs.values()];
  const current = jobs.map((job) => data.jobs.find((one) => one.id === job.id)?.state ?? job.state);
  const may = (test) => current.some(test);
  const isPageSelected = data.jobs.length && data.jobs.every((job) => selection.has(job.id));
  return html`<section class="action-bar" aria-label="Selected jobs">
    <strong>${selection.size.toLocaleString("en")} selected</strong>
    ${isPageSelected && data.total > selection.size ? html`<button type="button" class="ghost" @click=${() => selectAll(view)}>Select all ${data.total.toLocaleString("en")}</button>` : nothing}
    <a class="button primary" href=${selection.compareAddress()}>${icon("compare")}Compare</a>
    <button type="button" @click=${() => tag(view)}>Tag</button>
    ${may((state) => !isOver(state)) ? html`<button type="button" @click=${() => each(view, "stopping", post("finish"))}>Stop and keep</button>` : nothing}
    ${menu(icon("more"), [
      { words: "Pause", act: () => each(view, "paused", post("pause")), isHidden: !may(mayPause) },
      { words: "Resume", act: () => each(view, "resumed", post("resume")), isHidden: !may((state) => state === "paused") },
      { words: "Cancel", act: () => cancel(view), isHidden: !may((state) => !isOver(state)) },
      { words: "Delete", act: () => remove(view), isDangerous: true },
    ], { name: "More actions", kind: "icon", key: view })}
    <button type="button" class="ghost icon" aria-label="Clear the selection" @click=${() => selection.clear()}>${icon("close")}</button>
  </section>`;
}
