// The state of something other than a job, in the form of a job's.
import { html } from "../vendor.js";
import { plain } from "../lib/format.js";
import { icon } from "./icon.js";

const ICONS = /** @type {const} */ ({
  succeeded: "check",
  active: "dot",
  waiting: "ring",
  failed: "cross",
  cancelled: "stop",
});

/** @param {string} state @param {keyof typeof ICONS} kind */
export function badge(state, kind) {
  return html`<span class="chip ${kind}">${icon(ICONS[kind])}${plain(state)}</span>`;
}
