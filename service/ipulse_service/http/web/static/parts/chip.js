// The state of a job: an icon, a word and a colour.
import { html, nothing } from "../vendor.js";
import { plain, stateKind } from "../lib/format.js";
import { icon } from "./icon.js";

const ICONS = {
  active: "dot",
  waiting: "ring",
  succeeded: "check",
  failed: "cross",
  cancelled: "stop",
  paused: "pause",
};

/** @param {string} state @param {string | null} [reason] said after the state unless it is the usual one */
export function chip(state, reason = null) {
  const kind = stateKind(state);
  const why = reason && reason !== "completed" && !reason.startsWith(state) ? plain(reason) : "";
  return html`<span class="chip ${kind}">${icon(ICONS[kind])}${plain(state)}</span>${why ? html` <span class="soft small">${why}</span>` : nothing}`;
}
