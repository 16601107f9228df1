// The view of one job, updated while the job runs.
import { activity } from "./activity.js";
import { charts } from "./charts.js";
import { complaint, element, renewed, table } from "./element.js";
import { follow } from "./lib/stream.js";
import { figures } from "./figures.js";
import { files } from "./files.js";
import { log } from "./log.js";
import { phases } from "./phases.js";
import { get, post, request } from "./service.js";
import { chip, duration, isOver, mayPause, moment, plain, progress, took, waiting } from "./words.js";

export async function job(main, id, signal) {
  const parts = {
    heading: heading(id, () => again()), facts: element("div"), phases: phases(), activity: activity(signal), charts: charts(), files: files(), attempts: element("div"),
    log: log(), spec: element("div"), broken: element("p.soft", { role: "status" }),
  };
  main.replaceChildren(parts.heading.element, parts.facts, parts.broken, parts.phases.element, parts.activity.element, parts.charts.element,
    parts.files.element, parts.attempts, parts.log.element, parts.spec);
  let asked = 0, answered = 0;
  let latest = await get(`/v1/jobs/${id}`, signal);
  const show = () => draw(parts, latest, signal);
  const again = async () => {
    const mine = ++asked;
    const received = await get(`/v1/jobs/${id}`, signal);
    if (mine < answered) return; // a later request was answered first
    answered = mine;
    latest = received;
    show();
  };
  show();
  const onBreak = (error) => parts.broken.replaceChildren(error ? `The connection was lost; reconnecting. ${error.message}` : "");
  const isDone = () => isOver(latest) && parts.files.areListed(latest) && !parts.broken.textContent;
  const look = () => again().then(() => onBreak(null), (error) => signal.aborted || onBreak(error));
  const ticking = setInterval(() => isDone() || look(), 5000); // updates queue positions and durations
  signal.addEventListener("abort", () => clearInterval(ticking));
  for await (const events of follow(id, signal, onBreak)) {
    parts.log.add(events);
    parts.phases.add(events);
    parts.activity.add(events);
    parts.charts.add(events);
    if (events.some((event) => event.kind === "state" || event.kind === "metric")) await look();
  }
  await look(); // retried by the timer above
}

function draw(parts, job, signal) {
  document.title = `${job.name || job.id} · ${plain(job.state)} · IPUlse`;
  const summary = figures(job).map(([name, text]) => element("div", {}, element("dt", {}, name), element("dd", {}, text)));
  const why = [job.reason && job.reason !== "completed" ? plain(job.reason) : "", saysMore(job) ? job.message : ""].filter(Boolean).join(": ");
  parts.heading.set(job);
  parts.facts.replaceChildren(
    element("p.soft", {}, `${job.id} · ${job.device} · submitted `, moment(job.created_at),
      took(job) ? ` · ${isOver(job) ? "took" : "for"} ${took(job)}` : "", progress(job) ? ` · ${progress(job)}` : "",
      job.progress?.eta_seconds && !isOver(job) ? ` · about ${duration(job.progress.eta_seconds)} left` : ""),
    why ? element(job.state === "failed" ? "p.complaint" : "p.note", {}, why) : "",
    job.waiting_on ? element("p.note", {}, waiting(job.waiting_on)) : "",
    summary.length ? element("dl.figures", {}, summary) : "");
  parts.phases.set(job);
  parts.activity.set(job);
  parts.attempts = renewed(parts.attempts, element("div", {}, job.attempts.length > 1 ? attempts(job) : ""));
  if (!parts.spec.hasChildNodes()) {
    parts.spec.replaceChildren(element("details.card", {}, element("summary", {}, "Spec"),
      element("pre", {}, JSON.stringify(job.spec, null, 2))));
  }
  parts.files.set(job, signal);
}

// The message of a training that succeeded repeats its first figure.
const saysMore = (job) => job.state !== "succeeded" || job.summary?.test_accuracy === undefined;

function attempts(job) {
  const rows = job.attempts.map((attempt) => [String(attempt.number), attempt.agent, moment(attempt.started_at), attempt.reason ? plain(attempt.reason) : "running", attempt.message]);
  return element("section", {}, element("h2", {}, "Attempts"), table("Attempts", ["Number", "Agent", "Started", "Outcome", "Message"], rows));
}

/** The job's name, state and buttons. Built once, because a button that is replaced while it is pressed gets no click. */
function heading(id, again) {
  const name = element("h1"), state = element("span", { role: "status" }), answer = element("span", { role: "status" });
  const button = (words, act, kind = "button.quiet") => element(kind, {
    type: "button",
    onclick: async (event) => {
      event.target.disabled = true;
      await act().catch((error) => answer.replaceChildren(complaint(error)));
      event.target.disabled = false;
    },
  }, words);
  const ask = (what) => async () => {
    await post(`/v1/jobs/${id}/${what}`);
    await again();
  };
  const remove = async () => {
    if (!confirm(`Delete ${name.textContent}, its events and its files?`)) return;
    await request(`/v1/jobs/${id}`, { method: "DELETE" });
    location.hash = "#/";
  };
  const pause = button("Pause", ask("pause")), resume = button("Resume", ask("resume"), "button");
  const cancel = button("Cancel", ask("cancel")), gone = button("Delete", remove);
  const copy = element("a.button.quiet", { href: `#/submit?from=${id}` }, "Submit again");
  const made = element("div.title");
  let shown = "";
  const set = (job) => {
    if (job.state === shown) return;
    if (!shown) made.append(name, state, element("span.buttons", {}, pause, resume, cancel, copy, gone, answer));
    shown = job.state;
    answer.replaceChildren();
    name.textContent = job.name || id;
    state.replaceChildren(chip(job));
    pause.hidden = !mayPause(job);
    resume.hidden = job.state !== "paused";
    cancel.hidden = isOver(job);
    gone.hidden = !isOver(job);
  };
  return { element: made, set };
}
