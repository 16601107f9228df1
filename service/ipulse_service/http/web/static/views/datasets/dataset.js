// One data set: what its file contains, a sample, its versions.
import { html, nothing } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { maySubmit, who } from "../../app/session.js";
import { View } from "../../app/view.js";
import { navigate } from "../../app/router.js";
import { bytes, number, plain } from "../../lib/format.js";
import { ago } from "../../parts/ago.js";
import { copyButton } from "../../parts/copy.js";
import { confirmDialog } from "../../parts/dialog.js";
import { said } from "../../parts/said.js";
import { toast } from "../../parts/toast.js";
import { versionBadge } from "./list.js";
import "./preview.js";

const CLASSES = 30; // bars that are shown

class DatasetView extends View {
  static poll = 5000;

  heading({ set }) {
    return set.name;
  }

  async load(route, signal) {
    const path = `/v1/datasets/${encodeURIComponent(route.params.name)}`;
    const [set] = await Promise.all([api.get(path, { signal }), who()]);
    const asked = Number(route.params.tab);
    const version =
      set.versions.find((one) => one.version === asked) ??
      set.versions.find((one) => one.state !== "deleted") ??
      set.versions[0];
    return { set, version };
  }

  async remove_(version) {
    const isSure = await confirmDialog({
      title: `Delete ${version.reference}?`,
      danger: true,
      confirm: "Delete",
      text: html`<p>Its file is deleted; jobs that have ended keep their results. The number is not used again.</p>`,
    });
    if (!isSure) return;
    try {
      await api.delete(`/v1/datasets/${encodeURIComponent(version.dataset)}/versions/${version.version}`);
      toast(`${version.reference} is deleted`);
      if (this.data.set.versions.filter((one) => one.state !== "deleted").length === 1) navigate("/datasets");
      else this.reload();
    } catch (error) {
      toast(error.message, { isBad: true });
    }
  }

  view({ set, version }) {
    const spec = `data: {kind: ${version.kind ?? "npz"}, dataset: ${version.reference}}`;
    const content = `/v1/datasets/${encodeURIComponent(set.name)}/versions/${version.version}/content`;
    return html`<div class="head"><h1>${set.name} <span class="soft">@${version.version}</span></h1>${versionBadge(version)}
        <div class="buttons">${
          version.state === "ready"
            ? html`${maySubmit() ? html`<a class="button primary" href="/new?from=dataset&dataset=${encodeURIComponent(version.reference)}&kind=${version.kind ?? "npz"}">Train on it</a>` : nothing}
          <a class="button" href=${content} download>Download</a>`
            : nothing
        }
        ${version.state === "deleted" || !version.allowed.includes("delete") ? nothing : html`<button type="button" @click=${() => this.remove_(version)}>Delete</button>`}</div></div>
      ${version.refusal ? html`<section class="problem" role="alert"><h2>Refused</h2><p>${said(version.refusal)}</p></section>` : nothing}
      ${(version.facts?.warnings ?? []).map((warning) => html`<p class="note" role="status">${said(`Warning: ${warning}.`)}</p>`)}
      ${version.state === "ready" ? html`<p class="command"><code>${spec}</code>${copyButton(spec, "Copy the lines for a spec")}</p>` : nothing}
      <dl class="facts card">${this.facts(version).map(([words, value]) => html`<div><dt>${words}</dt><dd>${value}</dd></div>`)}</dl>
      ${
        version.facts
          ? html`<div class="dataset">
        <section class="card sample" aria-label="A sample">${version.previews.length ? html`<ip-sample .version=${version}></ip-sample>` : html`<p class="soft">No sample can be shown.</p>`}</section>
        <section class="card" aria-label="Samples of each class"><h2>Samples of each class</h2>${this.histogram(version.facts)}</section></div>`
          : nothing
      }
      <section class="section" aria-label="Versions"><h2>Versions</h2>
        <div class="grid-box" tabindex="0" role="region" aria-label="All versions"><table class="grid"><caption>Versions</caption>
          <thead><tr><th scope="col">Version</th><th scope="col">State</th><th scope="col" class="number">Size</th><th scope="col" class="number">Jobs</th><th scope="col">Uploaded</th><th scope="col">SHA-256</th></tr></thead>
          <tbody>${set.versions.map(
            (
              one,
            ) => html`<tr class=${one === version ? "selected" : ""}><th scope="row"><a class="name" href="/datasets/${encodeURIComponent(set.name)}/${one.version}">${one.reference}</a></th>
            <td class="c-state" data-label="State">${versionBadge(one)}</td><td class="number" data-label="Size">${bytes(one.size)}</td><td class="number" data-label="Jobs">${one.jobs}</td>
            <td data-label="Uploaded">${ago(one.created_at)}</td><td data-label="SHA-256"><code>${one.sha256.slice(0, 12)}</code></td></tr>`,
          )}</tbody></table></div></section>`;
  }

  facts(version) {
    const { facts } = version;
    const common = [
      ["Size", bytes(version.size)],
      ["Jobs that use it", number(version.jobs)],
      ["Uploaded", ago(version.created_at)],
      ["Owner", version.owner],
      ...(version.project === "default" ? [] : [["Project", version.project]]),
    ];
    if (!facts) return common;
    const per = facts.events_per_sample;
    return [
      ["Format", `${facts.format}, ${plain(facts.form)}`],
      ["Samples", number(facts.samples)],
      ["Test samples", facts.test_samples === null ? "a share, chosen by the spec" : number(facts.test_samples)],
      ["Channels", number(facts.channels)],
      ...(facts.classes ? [["Classes", number(facts.classes)]] : []),
      ...(facts.outputs ? [["Targets", `${number(facts.outputs)} a ${facts.target_steps ? "step" : "sample"}`]] : []),
      ...(facts.steps ? [["Time steps", number(facts.steps)]] : []),
      ...(facts.last_ms ? [["Duration", `${number(facts.last_ms)} ms`]] : []),
      ...(facts.events && per
        ? [
            [
              "Events a sample",
              html`${number(per.mean)} <span class="soft small">${number(per.min)} to ${number(per.max)}</span>`,
            ],
          ]
        : []),
      ...common,
    ];
  }

  histogram({ label_counts: counts }) {
    const most = Math.max(1, ...counts.map((one) => one.samples));
    return html`<ul class="histogram">${counts.slice(0, CLASSES).map(
      (
        one,
      ) => html`<li><span>${one.label}</span><span class="meter"><span .style=${`width: ${(100 * one.samples) / most}%`}></span></span>
      <span>${number(one.samples)}${one.test_samples ? html` <span class="soft">+ ${number(one.test_samples)}</span>` : nothing}</span></li>`,
    )}</ul>
      ${counts.length > CLASSES ? html`<p class="soft small">and ${counts.length - CLASSES} more classes</p>` : nothing}`;
  }
}
customElements.define("ip-dataset", DatasetView);
