// The changes of jobs that need no question, for the page of a job and for selected jobs.
import { mayPause } from "../../lib/format.js";

/**
 * @typedef {object} Verb
 * @property {string} verb the last part of the address
 * @property {string} words on the button
 * @property {string} done what is said of the changed jobs
 * @property {string} action what the rights must allow
 * @property {(job: {state: string, imported?: any}) => boolean} may whether a job can be changed now
 * @property {(hasCheckpoint: boolean) => string} [title] an explanation of the button
 */

/** @type {Verb[]} */
export const VERBS = [
  { verb: "pause", words: "Pause", done: "paused", action: "change", may: ({ state }) => mayPause(state) },
  { verb: "resume", words: "Resume", done: "resumed", action: "change", may: ({ state }) => state === "paused" },
  {
    verb: "retry",
    words: "Retry",
    done: "retried",
    action: "retry",
    may: ({ state, imported }) => state === "failed" && !imported,
    title: (hasCheckpoint) =>
      `Queues it again; it ${hasCheckpoint ? "resumes from its last checkpoint" : "starts from the beginning"}`,
  },
];

/** Whether a verb is offered for a job: by its state, and by the rights. @param {Verb} verb @param {any} job */
export const isOffered = ({ action, may }, job) => job.allowed.includes(action) && may(job);
