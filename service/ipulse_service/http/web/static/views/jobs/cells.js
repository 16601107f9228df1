// The columns of the jobs table: how each is headed, sorted and filled.
import { html, nothing } from "../../vendor.js";
import { duration, elapsed, isOver, label, metric, number, plain, relative } from "../../lib/format.js";
import { quoted } from "../../lib/query.js";
import { ago } from "../../parts/ago.js";
import { awaited, waitsForJob } from "../../parts/awaited.js";
import { chip } from "../../parts/chip.js";
import { bar } from "../../parts/meter.js";

export const defaults = ["state", "progress", "test_accuracy", "curve", "test_loss", "device", "duration", "created"];

const WHY = { wake_up: "starts now", no_agent: "no agent", no_match: "no agent can run it" };

/** The place in the queue and the expected start. */
function queued(waiting) {
  const { reason, position, of, estimated_start: start } = waiting;
  if (waitsForJob(waiting)) return html`after ${awaited(waiting)}`;
  if (!position || WHY[reason]) return WHY[reason] ?? plain(reason);
  const when = !start
    ? ""
    : Date.parse(start) - Date.now() > 10_000
      ? `, starts ${relative(new Date(start))}`
      : ", starts soon";
  return `${number(position)} of ${number(of)} in the queue${when}`;
}

const epochs = ({ epoch, epochs: all }) => `${number(epoch)} of ${number(all)} epochs`;

/** The epochs, or what the job waits for. */
function progress(job) {
  const at = job.progress;
  if (isOver(job.state)) return at ? html`<span class="soft">${epochs(at)}</span>` : nothing;
  const waiting = job.waiting_on;
  if (waiting && job.state !== "paused")
    return html`<span class="soft" title=${waiting.detail}>${queued(waiting)}</span>`;
  return at?.epochs
    ? html`${bar(at.epoch / at.epochs, "Progress")}<span class="soft small">${epochs(at)}</span>`
    : nothing;
}

/**
 * @type {Record<string, {words: string, cell: (job: any, view: any) => unknown, sort?: string, isText?: boolean,
 * isNumber?: boolean}>}
 */
const OWN = {
  state: {
    words: "State",
    cell: (job) => chip(job.state, isOver(job.state) && job.state !== "succeeded" ? job.reason : null),
    sort: "state",
    isText: true,
  },
  progress: { words: "Progress", cell: progress },
  curve: { words: "Curve", cell: (job, view) => view.sparks.cell(job) },
  device: { words: "Device", cell: (job) => job.device, sort: "device", isText: true },
  duration: {
    words: "Duration",
    cell: (job) => (job.started_at ? duration(elapsed(job)) : nothing),
    sort: "run_seconds",
    isNumber: true,
  },
  created: { words: "Created", cell: (job) => ago(job.created_at), sort: "created" },
  id: { words: "Id", cell: (job) => html`<code>${job.id.slice(4, 12)}</code>`, sort: "id", isText: true },
  tags: {
    words: "Tags",
    cell: (job) =>
      job.tags?.map(
        (tag) => html`<a class="tag" href="/jobs?q=${encodeURIComponent(`tag:${quoted(tag)}`)}">${tag}</a> `,
      ),
  },
  owner: {
    words: "Owner",
    cell: (job) => html`<a href="/jobs?q=${encodeURIComponent(`owner:${quoted(job.owner)}`)}">${job.owner}</a>`,
    sort: "owner",
    isText: true,
  },
  project: {
    words: "Project",
    cell: (job) => html`<a href="/jobs?q=${encodeURIComponent(`project:${quoted(job.project)}`)}">${job.project}</a>`,
    sort: "project",
    isText: true,
  },
  group: {
    words: "Group",
    cell: (job) =>
      job.group
        ? html`<a href="/jobs?q=${encodeURIComponent(`group:${quoted(job.group)}`)}">${job.group}</a>`
        : nothing,
    sort: "group",
    isText: true,
  },
};

/** How a column is shown. @param {string} key */
export function columnOf(key) {
  return (
    OWN[key] ?? {
      words: label(shortest(key)),
      sort: key,
      isNumber: true,
      cell: (job) =>
        job.values?.[key] === null || job.values?.[key] === undefined ? nothing : metric(key, job.values[key]),
    }
  );
}

/** A setting's name without its folders, as far as that says enough. */
function shortest(key) {
  return key.replace(/^training\.optimizer\.|^training\.|^network\.(?=layers)/, "");
}

export const ownColumns = Object.entries(OWN).map(([name, { words }]) => ({ name, label: words, kind: "field" }));

/** The columns that the service is asked for. @param {string[]} columns */
export const requested = (columns) => columns.filter((key) => !(key in OWN));
