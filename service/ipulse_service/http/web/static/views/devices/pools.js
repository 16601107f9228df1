// The pools of agents, the projects that may use them, and forms for administrators.
import { html, nothing, repeat } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { ago } from "../../parts/ago.js";
import { confirmDialog, openDialog } from "../../parts/dialog.js";
import { icon } from "../../parts/icon.js";
import { toast } from "../../parts/toast.js";
import { inForm } from "../people/forms.js";

const PREEMPTION = {
  never: "every job runs to its end",
  priority: "a job of a higher priority stops a lower one at its next checkpoint",
  share: "also a job of a project that uses fewer devices than its share",
};

const names = (text) =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
const labels = (text) =>
  Object.fromEntries(
    names(text).map((pair) => {
      const [name, ...value] = pair.split("=");
      return [name, value.join("=")];
    }),
  );
const labelText = (pool) =>
  Object.entries(pool.labels ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");

/** Asks for the content of a pool and sends it; resolves with the pool. @param {any} [pool] the one that is changed */
function askPool(pool) {
  const title = pool ? `Pool ${pool.name}` : "New pool";
  const isDefault = pool?.name === "default";
  const send = inForm(({ name, about, having, agents, projects, preemption }) => {
    const content = {
      description: about.value.trim(),
      projects: projects.value.trim() ? names(projects.value) : null,
      preemption: preemption.value,
      ...(isDefault ? {} : { labels: labels(having.value), agents: names(agents.value) }),
    };
    return pool
      ? api.patch(`/v1/pools/${encodeURIComponent(pool.name)}`, content)
      : api.post("/v1/pools", { name: name.value.trim(), ...content });
  });
  return openDialog(
    (close) => html`<form @submit=${(event) => send(event, close)}>
      <h2>${title}</h2>
      ${pool ? nothing : html`<label class="field"><span>Name</span><input name="name" required maxlength="63" pattern="[a-z0-9][a-z0-9._\\-]*" autocomplete="off" placeholder="lab" autofocus></label>`}
      <label class="field"><span>Description</span><input name="about" maxlength="1000" autocomplete="off" value=${pool?.description ?? ""}></label>
      ${
        isDefault
          ? html`<p class="soft">It has all agents that no other pool has.</p>`
          : html`<label class="field"><span>Agents with the labels</span><input name="having" autocomplete="off" placeholder="room=2, site=b" value=${labelText(pool ?? {})}></label>
      <label class="field"><span>and agents with the names</span><input name="agents" autocomplete="off" placeholder="pod-1, pod-*" value=${pool?.agents.join(", ") ?? ""}></label>`
      }
      <label class="field"><span>Projects that may use it</span><input name="projects" autocomplete="off" placeholder="all" value=${pool?.projects?.join(", ") ?? ""}></label>
      <fieldset class="field"><legend>Preemption</legend>${Object.entries(PREEMPTION).map(
        ([value, words]) => html`<label class="check">
        <input type="radio" name="preemption" value=${value} ?checked=${value === (pool?.preemption ?? "never")}><span><strong>${value}</strong> <span class="soft">${words}</span></span></label>`,
      )}</fieldset>
      <p class="answer" role="alert"></p>
      <div class="buttons end"><button type="button" @click=${() => close()}>Cancel</button><button type="submit" class="primary">Save</button></div></form>`,
    { label: title },
  );
}

async function remove(pool, done) {
  const isSure = await confirmDialog({
    title: `Delete the pool ${pool.name}?`,
    danger: true,
    confirm: "Delete",
    text: html`<p>Its agents are in other pools then.</p>`,
  });
  if (!isSure) return;
  await api
    .delete(`/v1/pools/${encodeURIComponent(pool.name)}`)
    .catch((error) => toast(error.message, { isBad: true }));
  done();
}

/** Asks for a reservation of agents of a pool and sends it; resolves with it. @param {any} pool */
function askReservation(pool) {
  const send = inForm(({ project, agents, begin, hours }) => {
    const first = begin.value ? new Date(begin.value) : new Date();
    return api.post(`/v1/pools/${encodeURIComponent(pool.name)}/reservations`, {
      project: project.value.trim(),
      agents: Number(agents.value),
      starts_at: begin.value ? first.toISOString() : null,
      ends_at: new Date(first.getTime() + Number(hours.value) * 3_600_000).toISOString(),
    });
  });
  return openDialog(
    (close) => html`<form @submit=${(event) => send(event, close)}>
      <h2>Reserve agents of ${pool.name}</h2>
      <p class="soft">They run only jobs of the project until the end. Before the beginning, other jobs start there only if they are expected to end in time.</p>
      <label class="field"><span>Project</span><input name="project" required maxlength="63" autocomplete="off" autofocus></label>
      <label class="field"><span>Agents</span><input name="agents" type="number" required min="1" max="10000" value="1"></label>
      <label class="field"><span>From <span class="soft">now, if empty</span></span><input name="begin" type="datetime-local"></label>
      <label class="field"><span>Hours</span><input name="hours" type="number" required min="0.01" max="8784" step="any" value="4"></label>
      <p class="answer" role="alert"></p>
      <div class="buttons end"><button type="button" @click=${() => close()}>Cancel</button><button type="submit" class="primary">Reserve</button></div></form>`,
    { label: "Reserve agents" },
  );
}

/** The reservations that are not over.
 * @param {any[]} reservations @param {{isAdmin: boolean, done: () => void}} options
 */
function reservationList(reservations, { isAdmin, done }) {
  if (!reservations.length) return nothing;
  const end = async (one) => {
    await api.delete(`/v1/reservations/${one.id}`).catch((error) => toast(error.message, { isBad: true }));
    done();
  };
  return html`<div class="grid-box" tabindex="0" role="region" aria-label="Reservations"><table class="grid"><caption>Reservations</caption>
    <thead><tr><th scope="col">Pool</th><th scope="col">Project</th><th scope="col">Agents</th><th scope="col">From</th><th scope="col">To</th>${isAdmin ? html`<th scope="col"><span class="visually-hidden">Actions</span></th>` : nothing}</tr></thead>
    <tbody>${repeat(
      reservations,
      (one) => one.id,
      (
        one,
      ) => html`<tr><th scope="row">${one.pool}</th><td data-label="Project">${one.project ?? "another"}</td><td data-label="Agents">${one.agents}</td>
      <td data-label="From">${ago(one.starts_at)}</td><td data-label="To">${ago(one.ends_at)}</td>
      ${isAdmin ? html`<td class="number"><button type="button" aria-label="End the reservation of ${one.project ?? "another project"}" @click=${() => end(one)}>End</button></td>` : nothing}</tr>`,
    )}</tbody></table></div>`;
}

/** A table of pools, and one of reservations.
 * @param {any[]} pools @param {any[]} reservations
 * @param {{isAdmin: boolean, done: () => void}} options `done` after a change
 */
export function poolTable(pools, reservations, { isAdmin, done }) {
  if (pools.length < 2 && !isAdmin && !reservations.length) return nothing;
  const change = async (pool) => (await askPool(pool)) && done();
  const reserve = async (pool) => (await askReservation(pool)) && done();
  return html`<section class="pools"><div class="head"><h2>Pools</h2>${isAdmin ? html`<div class="buttons"><button type="button" @click=${() => change()}>${icon("plus")}New pool</button></div>` : nothing}</div>
    <div class="grid-box" tabindex="0" role="region" aria-label="Pools"><table class="grid"><caption>Pools</caption>
      <thead><tr><th scope="col">Name</th><th scope="col">Agents</th><th scope="col">Projects</th><th scope="col">Preemption</th>${isAdmin ? html`<th scope="col"><span class="visually-hidden">Actions</span></th>` : nothing}</tr></thead>
      <tbody>${repeat(
        pools,
        (pool) => pool.name,
        (pool) => html`<tr><th scope="row">${pool.name} <span class="soft small">${pool.description}</span></th>
        <td data-label="Agents">${pool.members.join(", ") || html`<span class="soft">none now</span>`}${labelText(pool) ? html` <span class="tag">${labelText(pool)}</span>` : nothing}</td>
        <td data-label="Projects">${pool.projects?.join(", ") ?? "all"}</td><td data-label="Preemption">${pool.preemption}</td>
        ${
          isAdmin
            ? html`<td class="number"><button type="button" aria-label="Edit the pool ${pool.name}" @click=${() => change(pool)}>Edit</button>
        <button type="button" aria-label="Reserve agents of the pool ${pool.name}" @click=${() => reserve(pool)}>Reserve</button>
        ${pool.name === "default" ? nothing : html`<button type="button" aria-label="Delete the pool ${pool.name}" @click=${() => remove(pool, done)}>Delete</button>`}</td>`
            : nothing
        }</tr>`,
      )}</tbody></table></div>${reservationList(reservations, { isAdmin, done })}</section>`;
}
