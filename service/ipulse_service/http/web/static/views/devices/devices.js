// Agents, their devices, and why jobs wait.
import { html, nothing, repeat } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { who } from "../../app/session.js";
import { View } from "../../app/view.js";
import { plain } from "../../lib/format.js";
import { packageDigits, packageName } from "../../lib/packages.js";
import { ago } from "../../parts/ago.js";
import { badge } from "../../parts/badge.js";
import { copyButton } from "../../parts/copy.js";
import { confirmDialog } from "../../parts/dialog.js";
import { icon } from "../../parts/icon.js";
import { menu } from "../../parts/menu.js";
import { said } from "../../parts/said.js";
import { empty } from "../../parts/states.js";
import { toast } from "../../parts/toast.js";
import { poolTable } from "./pools.js";
import { waitingJobs } from "./waiting.js";

const KINDS = {
  idle: "succeeded",
  busy: "active",
  draining: "waiting",
  drained: "cancelled",
  offline: "cancelled",
  faulty: "failed",
  quarantined: "failed",
};
const DEVICE_KINDS = {
  free: "succeeded",
  busy: "active",
  agent_busy: "waiting",
  quarantined: "failed",
  draining: "waiting",
  offline: "cancelled",
};
const SHOWN = 5; // waiting jobs that are explained

class DevicesView extends View {
  static poll = 5000;

  heading() {
    return "Devices";
  }

  async load(_route, signal) {
    const [{ role }, { pools }, { reservations }, { agents }, { devices }, queued] = await Promise.all([
      who(),
      api.get("/v1/pools", { signal }),
      api.get("/v1/reservations", { signal }),
      api.get("/v1/agents", { signal }),
      api.get("/v1/devices", { signal }),
      api.get("/v1/jobs", {
        query: { q: "state:queued,retry_wait", sort: "created", waiting_on: "true", count: "true", page_size: SHOWN },
        signal,
      }),
    ]);
    const place = (job) => job.waiting_on.position ?? Infinity;
    return {
      role,
      pools,
      reservations,
      agents,
      devices,
      waiting: queued.jobs.filter((job) => job.waiting_on).sort((a, b) => place(a) - place(b)),
      queued: queued.total,
    };
  }

  async act(path, body, done) {
    try {
      await api.post(path, body);
      toast(done);
    } catch (error) {
      toast(error.message, { isBad: true });
    }
    this.reload();
  }

  async remove_(agent) {
    const isSure = await confirmDialog({
      title: `Remove ${agent.name}?`,
      danger: true,
      confirm: "Remove",
      text: html`<p>Its token is revoked. It can join again with a new join token.</p>`,
    });
    if (!isSure) return;
    try {
      await api.delete(`/v1/agents/${encodeURIComponent(agent.name)}`);
    } catch (error) {
      toast(error.message, { isBad: true });
    }
    this.reload();
  }

  view({ role, pools, reservations, agents, devices, waiting, queued }) {
    const present = agents.filter((agent) => agent.state !== "offline");
    const free = devices.filter((device) => device.state === "free").length;
    return html`<div class="head"><h1>Devices</h1>
        ${agents.length ? html`<p class="summary soft">${present.length} of ${agents.length} ${agents.length === 1 ? "agent" : "agents"} present · ${free} ${free === 1 ? "device" : "devices"} free</p>` : nothing}</div>
      ${waitingJobs(waiting, queued)}
      ${
        agents.length
          ? html`<div class="agents">${repeat(
              agents,
              (agent) => agent.name,
              (agent) =>
                this.agent(
                  agent,
                  devices.filter((device) => device.agent === agent.name),
                ),
            )}</div>`
          : empty({
              title: "No agent yet",
              text: "An agent runs jobs on the devices of its machine. `ipulse up` starts one here; other machines join with a token.",
              command: "ipulse agent token",
            })
      }
      ${poolTable(pools, reservations, { isAdmin: role === "owner", done: () => this.reload() })}`;
  }

  agent(agent, devices) {
    const isDraining = agent.state === "draining" || agent.state === "drained";
    const path = `/v1/agents/${encodeURIComponent(agent.name)}`;
    const state = agent.fault ? "faulty" : agent.state;
    return html`<section class="card agent" aria-label="Agent ${agent.name}">
      <header><h2>${agent.name}</h2>${badge(state, KINDS[state])}
        ${
          this.data.role === "owner"
            ? menu(
                icon("more"),
                [
                  {
                    words: "Drain: take no more jobs",
                    act: () => this.act(`${path}:drain`, {}, `${agent.name} takes no more jobs`),
                    isHidden: isDraining,
                  },
                  {
                    words: "Resume",
                    act: () => this.act(`${path}:resume`, undefined, `${agent.name} takes jobs again`),
                    isHidden: !isDraining,
                  },
                  { words: "Remove", act: () => this.remove_(agent), isDangerous: true, isHidden: !agent.joined_at },
                ],
                { name: `Actions of ${agent.name}`, kind: "ghost icon", key: this },
              )
            : nothing
        }</header>
      <p class="soft small">${agent.host && agent.host !== agent.name ? html`${agent.host} · ` : nothing}${agent.version ? html`IPUlse ${agent.version} · ` : nothing}pool ${agent.pool} · seen ${ago(agent.last_seen)}</p>
      ${agent.fault ? html`<p class="problem"><strong>${plain(agent.fault.reason)}</strong>: ${said(agent.fault.message)}</p>` : nothing}
      ${agent.state === "quarantined" ? html`<p class="problem">${said(agent.state_reason)}</p>` : nothing}
      ${agent.drain_until ? html`<p class="note">It stops its job ${ago(agent.drain_until)}.</p>` : nothing}
      <ul class="devices">${devices.map(
        (device) => html`<li>${icon("devices")}<strong>${device.kind}</strong>
        ${agent.ipus?.[device.kind] ? html`<span class="soft small">${agent.ipus[device.kind]} IPUs</span>` : nothing}
        ${badge(device.state === "agent_busy" ? "agent busy" : device.state, DEVICE_KINDS[device.state] ?? "cancelled")}
        ${device.holds ? html`${holder(device.holds)} <span class="soft small">since ${ago(device.holds.since)}</span>` : nothing}</li>`,
      )}</ul>
      ${Object.keys(agent.labels).length ? html`<p>${Object.entries(agent.labels).map(([name, value]) => html`<span class="tag">${name}=${value}</span> `)}</p>` : nothing}
      ${lacks(agent)}
      ${agent.neuron_packages?.length ? html`<div class="packages"><h3>Packages of neurons</h3><ul>${agent.neuron_packages.map(packageLine)}</ul></div>` : nothing}
      ${agent.data_sets?.length ? html`<p class="soft small">Data: ${agent.data_sets.join(", ")}</p>` : nothing}
    </section>`;
  }
}

/** The job that holds a device. @param {{job_id: string | null}} holds null: a job that one may not read */
const holder = ({ job_id: id }) =>
  id ? html`<a href="/jobs/${id}">${id.slice(4, 12)}</a>` : html`<span class="soft">a job of another project</span>`;

/** What the agent's machine lacks for jobs, and why. */
function lacks({ capabilities = {}, remarks = {} }) {
  const names = Object.keys(capabilities).filter((name) => capabilities[name] === false);
  if (!names.length) return nothing;
  return html`<div class="packages"><h3>Lacks</h3><ul>${names.map((name) => html`<li>${name} <span class="soft small about">${said(remarks[name] ?? "")}</span></li>`)}</ul></div>`;
}

function packageLine({ package: reference, version, parameters }) {
  const names = parameters.map(({ name }) => name).join(", ");
  return html`<li>${packageName(reference)} <span class="soft small id" title=${reference}>${packageDigits(reference)}</span>${copyButton(reference, `Copy the name of ${packageName(reference)} for a spec`)}
    <span class="soft small about">${version}${names ? ` · ${names}` : ""}</span></li>`;
}
customElements.define("ip-devices", DevicesView);
