// The actions on the selected jobs.
import { html, nothing } from "../../vendor.js";
import { maySubmit } from "../../app/session.js";
import { api } from "../../lib/api.js";
import { isOver } from "../../lib/format.js";
import { deleteLater } from "../../parts/deletions.js";
import { askDialog, confirmDialog } from "../../parts/dialog.js";
import { icon } from "../../parts/icon.js";
import { menu } from "../../parts/menu.js";
import { toast } from "../../parts/toast.js";
import { changeAll, count, countedText } from "./bulk.js";
import { VERBS, isOffered } from "./verbs.js";

const AT_ONCE = 4; // requests

/** Calls `act` for each job; says how many succeeded and why the first other one did not. */
async function each(view, done, act) {
  const jobs = [...view.selection.jobs.values()];
  const problems = [];
  const rest = [...jobs];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let job = rest.shift(); job; job = rest.shift()) {
        try {
          await act(job);
        } catch (error) {
          problems.push(`${job.name || job.id}: ${error.message}`);
        }
      }
    }),
  );
  const count = jobs.length - problems.length;
  toast(`${count} ${done}${problems.length ? `. ${problems.length} not. ${problems[0]}` : ""}`, { isBad: count === 0 });
  view.isHeld = false;
  view.reload();
}

/** The selected jobs in the state that the list shows. */
const currentJobs = ({ selection, data }) =>
  [...selection.jobs.values()].map((job) => data.jobs.find((one) => one.id === job.id) ?? job);

const post = (what) => (job) => api.post(`/v1/jobs/${job.id}/${what}`);

/** Does an action for all jobs of the selected search, after a question if it `asks`. */
async function all(view, { verb, done, body = undefined, asks = null }) {
  const { q } = view.selection.search;
  try {
    const counted = await count(q, verb, body);
    const jobs = `${counted.changeable.toLocaleString("en")} ${counted.changeable === 1 ? "job" : "jobs"}`;
    if (
      asks &&
      !(await confirmDialog({
        ...asks,
        title: `${asks.title} ${jobs}?`,
        text: html`${countedText(counted)}${asks.text}`,
        danger: true,
      }))
    )
      return;
    const changed = await changeAll(q, verb, counted, body);
    const rest = counted.matched - changed;
    toast(
      `${changed.toLocaleString("en")} ${done}${rest > 0 ? `. ${rest.toLocaleString("en")} not: their state does not allow it.` : ""}`,
      { isBad: changed === 0 },
    );
  } catch (error) {
    toast(error.message, { isBad: true });
  }
  view.isHeld = false;
  view.reload();
}

async function tag(view) {
  const text = await askDialog({
    title: "Tag the selected jobs",
    label: "Tags, separated by spaces",
    confirm: "Tag",
    hint: "A minus removes a tag: -old",
  });
  if (!text) return;
  const words = text.split(/[\s,]+/).filter(Boolean);
  const body = {
    add_tags: words.filter((word) => !word.startsWith("-")),
    remove_tags: words.filter((word) => word.startsWith("-")).map((word) => word.slice(1)),
  };
  if (view.selection.search) await all(view, { verb: "edit", done: "tagged", body });
  else await each(view, "tagged", (job) => api.patch(`/v1/jobs/${job.id}`, body));
}

/** The names of the jobs that a question is about. */
function names(jobs) {
  const rest = jobs.length - 6;
  return html`<ul>${jobs.slice(0, 6).map((job) => html`<li>${job.name || job.id}</li>`)}${rest > 0 ? html`<li>and ${rest} more</li>` : nothing}</ul>`;
}

async function isConfirmed(view, { title, text, confirm }) {
  const jobs = [...view.selection.jobs.values()];
  return confirmDialog({
    title: `${title} ${jobs.length === 1 ? "this job" : `these ${jobs.length} jobs`}?`,
    text: html`${names(jobs)}${text}`,
    danger: true,
    confirm,
  });
}

async function remove(view) {
  const asks = {
    title: "Delete",
    confirm: "Delete",
    text: html`<p>Their events, logs and files are deleted, too. A job that has not ended is refused: cancel it first.</p>`,
  };
  if (view.selection.search) await removeAll(view, asks);
  else if (await isConfirmed(view, asks)) await removeSelected(view);
}

/** Deletes the selected jobs that have ended, unless that is undone. */
async function removeSelected(view) {
  // The list may be old, and does not have the jobs of other pages.
  const jobs = await Promise.all(
    currentJobs(view).map((job) => (isOver(job.state) ? job : api.get(`/v1/jobs/${job.id}`).catch(() => job))),
  );
  const over = jobs.filter((job) => isOver(job.state));
  const ids = new Set(over.map((job) => job.id));
  const rest = jobs.length - over.length;
  if (rest) toast(`${rest} not deleted: cancel ${rest === 1 ? "it" : "them"} first`, { isBad: !over.length });
  if (!over.length) return;
  view.selection.remove([...ids]);
  view.isHeld = false;
  deleteLater(`${over.length} deleted`, {
    covers: (job) => ids.has(job.id),
    act: ({ keepalive }) => Promise.all([...ids].map((id) => api.delete(`/v1/jobs/${id}`, { keepalive }))),
  });
}

/** Deletes all jobs of the selected search, unless that is undone. */
async function removeAll(view, asks) {
  const { q } = view.selection.search;
  try {
    const counted = await count(q, "delete");
    const jobs = counted.changeable.toLocaleString("en");
    if (
      !(await confirmDialog({
        ...asks,
        title: `Delete ${jobs} ${counted.changeable === 1 ? "job" : "jobs"}?`,
        text: html`${countedText(counted)}${asks.text}`,
        danger: true,
      }))
    )
      return;
    view.selection.clear();
    view.isHeld = false;
    deleteLater(`${jobs} deleted`, {
      covers: (job, shown) => shown === q && isOver(job.state) && job.finished_at < counted.as_of,
      act: (options) => changeAll(q, "delete", counted, undefined, options),
    });
  } catch (error) {
    toast(error.message, { isBad: true });
  }
}

async function cancel(view) {
  const asks = {
    title: "Cancel",
    confirm: "Cancel jobs",
    text: html`<p>They end without a report. “Stop and keep” ends a training with its results.</p>`,
  };
  if (view.selection.search) await all(view, { verb: "cancel", done: "cancelled", asks });
  else if (await isConfirmed(view, asks)) await each(view, "cancelled", post("cancel"));
}

async function stop(view) {
  const asks = {
    title: "Stop",
    confirm: "Stop and keep",
    text: html`<p>Their training ends now; weights and report are written.</p>`,
  };
  if (view.selection.search) await all(view, { verb: "finish", done: "stopping", asks });
  else await each(view, "stopping", post("finish"));
}

const simple =
  (view, { verb, done }) =>
  () =>
    view.selection.search ? all(view, { verb, done }) : each(view, done, post(verb));

/** The bar below the table while jobs are selected. */
export function actionBar(view) {
  const { selection, data } = view;
  if (!selection.size) return nothing;
  const current = currentJobs(view);
  const isAll = selection.search !== null;
  const some = (test) => (isAll ? maySubmit() : current.some(test)); // of a search the service changes what it may
  const may = (test) => some((job) => job.allowed.includes("change") && test(job));
  const isPageSelected = data.jobs.length && data.jobs.every((job) => selection.has(job.id));
  return html`<section class="action-bar" aria-label="Selected jobs">
    <strong>${selection.size.toLocaleString("en")} selected</strong>
    ${isPageSelected && data.total > selection.size ? html`<button type="button" class="ghost" @click=${() => selection.setSearch(view.q, data.total)}>Select all ${data.total.toLocaleString("en")}</button>` : nothing}
    <a class="button primary" href=${selection.compareAddress()}>${icon("compare")}Compare</a>
    ${may(() => true) ? html`<button type="button" @click=${() => tag(view)}>Tag</button>` : nothing}
    ${may(({ state }) => state === "running") ? html`<button type="button" title="Ends the training and writes weights and report" @click=${() => stop(view)}>Stop and keep</button>` : nothing}
    ${
      may(() => true)
        ? menu(
            icon("more"),
            [
              ...VERBS.map((one) => ({
                words: one.words,
                act: simple(view, one),
                isHidden: !some((job) => isOffered(one, job)),
              })),
              { words: "Cancel", act: () => cancel(view), isHidden: !may(({ state }) => !isOver(state)) },
              { words: "Delete", act: () => remove(view), isDangerous: true },
            ],
            { name: "More actions", kind: "icon", key: view },
          )
        : nothing
    }
    <button type="button" class="ghost icon" aria-label="Clear the selection" @click=${() => selection.clear()}>${icon("close")}</button>
  </section>`;
}
