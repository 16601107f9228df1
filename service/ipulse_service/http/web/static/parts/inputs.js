// The head of the two lists of inputs of jobs: data sets and custom ops.
import { html } from "../vendor.js";

const LISTS = [
  ["/datasets", "Data sets"],
  ["/ops", "Custom ops"],
];

/** @param {"/datasets" | "/ops"} shown */
export function inputsHead(shown) {
  return html`<div class="head"><h1>${LISTS.find(([href]) => href === shown)[1]}</h1></div>
    <nav class="tabs" aria-label="Inputs of jobs">${LISTS.map(([href, words]) => html`<a href=${href} aria-current=${href === shown ? "page" : "false"}>${words}</a>`)}</nav>`;
}
