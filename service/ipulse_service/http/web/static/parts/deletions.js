// Deletions of jobs that can be undone: the service is asked after some seconds, or when the page is left.
import { toast } from "./toast.js";

const UNDO_WITHIN = 10_000; // ms, as long as the message stays

/**
 * @typedef {{covers: (job: any, q: string) => boolean, act: (options: {keepalive: boolean}) => Promise<unknown>,
 * timer: number}} Deletion
 */

/** @type {Set<Deletion>} */
const pending = new Set();

/** Whether a job of a search is about to be deleted, and is shown no more. */
export const isLeaving = (job, q) => [...pending].some((one) => one.covers(job, q));

/** @param {string} text what the message says @param {{covers: Deletion["covers"], act: Deletion["act"]}} parts */
export function deleteLater(text, { covers, act }) {
  const deletion = { covers, act, timer: setTimeout(() => perform(deletion, false), UNDO_WITHIN) };
  pending.add(deletion);
  announce();
  toast(text, { undo: () => undo(deletion) });
}

/** The list shows the present jobs. */
const announce = () => dispatchEvent(new CustomEvent("jobs-changed"));

function undo(deletion) {
  clearTimeout(deletion.timer);
  pending.delete(deletion);
  announce();
}

async function perform(deletion, keepalive) {
  clearTimeout(deletion.timer);
  try {
    await deletion.act({ keepalive });
  } catch (error) {
    toast(error.message, { isBad: true });
  }
  pending.delete(deletion);
  announce();
}

addEventListener("pagehide", () => pending.forEach((deletion) => perform(deletion, true)));
