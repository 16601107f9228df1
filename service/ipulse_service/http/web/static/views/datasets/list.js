// The data sets, and the upload of another version.
import { html, nothing, repeat } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { maySubmit, who } from "../../app/session.js";
import { View } from "../../app/view.js";
import { navigate } from "../../app/router.js";
import { bytes, number, plain } from "../../lib/format.js";
import { ago } from "../../parts/ago.js";
import { badge } from "../../parts/badge.js";
import { icon } from "../../parts/icon.js";
import { inputsHead } from "../../parts/inputs.js";
import { uploadDialog } from "./upload.js";

const KINDS = { checking: "active", ready: "succeeded", refused: "failed", deleted: "cancelled" };

export const versionBadge = (version) => badge(version.state, KINDS[version.state] ?? "cancelled");

class DatasetsView extends View {
  static poll = 5000;

  heading() {
    return "Data sets";
  }

  loadKey(route) {
    return route.query.get("page") ?? "";
  }

  async load(route, signal) {
    const query = { page_token: route.query.get("page") };
    const [found] = await Promise.all([api.get("/v1/datasets", { query, signal }), who()]);
    return found;
  }

  async upload(file) {
    const version = await uploadDialog(file);
    if (version) navigate(`/datasets/${encodeURIComponent(version.dataset)}`);
    else this.reload();
  }

  view({ datasets, next_page_token: next }) {
    const drop = (event) => {
      event.preventDefault();
      event.currentTarget.classList.remove("over");
      this.upload(event.dataTransfer.files[0]);
    };
    const over = (is) => (event) => {
      event.preventDefault();
      event.currentTarget.classList.toggle("over", is);
    };
    const zone = !maySubmit()
      ? nothing
      : html`<section class="drop section" aria-label="Upload" @dragover=${over(true)} @dragleave=${over(false)} @drop=${drop}>
      <p>Drop a file here: npz, HDF5, CSV of events, or a packed folder of N-MNIST or DVS Gesture.</p>
      <p class="soft">It is checked when it arrives: shapes, labels, times.</p>
      <button type="button" @click=${() => this.upload()}>${icon("plus")}Choose a file</button>
      <p class="soft small">Large files and folders: <code>ipulse data push PATH</code></p></section>`;
    if (!datasets.length) {
      return html`${inputsHead("/datasets")}<p class="soft">Your own recordings, spikes or values, by name and version. A spec names one with <code>data: {kind: npz, dataset: NAME}</code>.</p>${zone}`;
    }
    return html`${inputsHead("/datasets")}
      <div class="grid-box jobs" tabindex="0" role="region" aria-label="Data sets"><table class="grid"><caption>Data sets</caption>
        <thead><tr><th scope="col">Name</th><th scope="col">State</th><th scope="col">Kind</th><th scope="col" class="number">Samples</th><th scope="col" class="number">Channels</th><th scope="col" class="number">Classes</th>
          <th scope="col" class="number">Size</th><th scope="col" class="number">Jobs</th><th scope="col">Uploaded</th></tr></thead>
        <tbody>${repeat(
          datasets,
          (one) => one.name,
          ({ name, versions, latest }) => html`<tr>
          <th scope="row"><a class="name" href="/datasets/${encodeURIComponent(name)}">${name}</a> ${latest ? html`<span class="soft small id">@${latest.version}</span>` : nothing} ${versions > 1 ? html`<span class="soft small">${versions} versions</span>` : nothing}</th>
          ${
            latest
              ? html`<td class="c-state" data-label="State">${versionBadge(latest)}</td><td data-label="Kind">${latest.kind ? plain(latest.kind) : nothing}</td>
          <td class="number" data-label="Samples">${latest.facts ? html`${number(latest.facts.samples)}${latest.facts.test_samples ? html` <span class="soft small">${number(latest.facts.test_samples)} of them test</span>` : nothing}` : nothing}</td>
          <td class="number" data-label="Channels">${latest.facts ? number(latest.facts.channels) : nothing}</td><td class="number" data-label="Classes">${latest.facts?.classes ? number(latest.facts.classes) : nothing}</td>
          <td class="number" data-label="Size">${bytes(latest.size)}</td><td class="number" data-label="Jobs">${latest.jobs}</td><td data-label="Uploaded">${ago(latest.created_at)}</td>`
              : html`<td colspan="8"></td>`
          }</tr>`,
        )}</tbody></table></div>
      ${next ? html`<nav class="paging" aria-label="Pages of the list"><span></span><a class="button" href="/datasets?page=${next}">More</a></nav>` : nothing}
      ${zone}`;
  }
}
customElements.define("ip-datasets", DatasetsView);
