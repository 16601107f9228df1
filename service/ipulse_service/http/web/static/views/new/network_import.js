// A NIR file of another simulator: its notes, the meanings that it may have, or what is wrong with it.
import { html, nothing } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { problem } from "../../parts/states.js";
import { said } from "../../parts/said.js";

const OPTIONS = { writer: "writer", solver: "solver", step_ms: "step", reset: "reset" };

/**
 * @typedef {{options: Record<string, string>, meaning: string}} Choice
 * @typedef {object} Import
 * @property {File} file
 * @property {boolean} [isReading]
 * @property {string[]} [notes] of a file that was imported
 * @property {Choice[]} [choices] of one that does not tell what its neurons do
 * @property {any} [error]
 */

/**
 * Has the service read a file; returns what to show, and the spec of a network that was imported.
 * @param {File} file @param {Record<string, string>} options @param {AbortSignal} signal
 * @returns {Promise<{shown: Import, spec?: any}>}
 */
export async function importNir(file, options, signal) {
  const name = file.name.replace(/\.[^.]*$/, "").slice(0, 200);
  try {
    const found = await api.upload("/v1/networks:import", file, { query: { ...options, name }, signal });
    return { shown: { file, notes: found.notes }, spec: found.spec };
  } catch (error) {
    return { shown: { file, error, choices: error.choices?.length ? error.choices : undefined } };
  }
}

/**
 * The state of an import, above the editor.
 * @param {Import} shown @param {(choice: Choice) => void} choose @param {() => void} close
 */
export function importState({ file, isReading, notes, choices, error }, choose, close) {
  const done = html`<button type="button" @click=${close}>Close</button>`;
  if (isReading)
    return html`<section class="card imported"><p role="status">Reading <bdi>${file.name}</bdi> …</p></section>`;
  if (choices)
    return html`<section class="card imported" role="group" aria-labelledby="meanings"><h2 id="meanings">What does <bdi>${file.name}</bdi> mean?</h2>
      <p role="status">${said(error.message)}.</p>
      <ul class="meanings">${choices.map(
        (choice) =>
          html`<li><button type="button" @click=${() => choose(choice)}>${words(choice)}</button> <span>${choice.meaning}</span></li>`,
      )}</ul>${done}</section>`;
  if (error) return html`<section class="imported">${problem(error)}${done}</section>`;
  return html`<section class="card imported"><h2><bdi>${file.name}</bdi> is imported</h2>
    <p role="status">The spec below names its weights, which the service keeps for a day. Data and loss are a guess: adapt them.</p>
    ${notes?.length ? html`<ul>${notes.map((note) => html`<li>${said(note)}.</li>`)}</ul>` : nothing}${done}</section>`;
}

/** The options of a choice in words. @param {Choice} choice */
function words({ options }) {
  const named = Object.entries(OPTIONS).filter(([name]) => options[name]);
  return named.map(([name, label]) => `${label} ${options[name]}${name === "step_ms" ? " ms" : ""}`).join(", ");
}
