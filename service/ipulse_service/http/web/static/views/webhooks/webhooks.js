// Webhooks: who is told when jobs end, and how the latest messages went.
import { html, repeat } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { View } from "../../app/view.js";
import { ago } from "../../parts/ago.js";
import { badge } from "../../parts/badge.js";
import { copyButton } from "../../parts/copy.js";
import { confirmDialog, openDialog } from "../../parts/dialog.js";
import { icon } from "../../parts/icon.js";
import { empty } from "../../parts/states.js";
import { toast } from "../../parts/toast.js";

const FORMATS = { "": "by the address", slack: "Slack", mattermost: "Mattermost", matrix: "Matrix (Hookshot)" };
const TYPES = { "job.succeeded": "succeeds", "job.failed": "fails", "job.cancelled": "is cancelled" };
const STATES = /** @type {const} */ ({ delivered: "succeeded", waiting: "waiting", failed: "failed" });

class WebhooksView extends View {
  heading() {
    return "Webhooks";
  }

  async load(_route, signal) {
    return (await api.get("/v1/webhooks", { signal })).webhooks;
  }

  async create() {
    const created = await openDialog(
      (close) => html`<form @submit=${(event) => this.send(event, close)}>
      <h2>New webhook</h2>
      <label class="field"><span>Address</span><input name="url" required maxlength="2048" autocomplete="off" placeholder="https://… or mailto:…" autofocus></label>
      <label class="field"><span>Name</span><input name="label" maxlength="128" autocomplete="off"></label>
      <label class="field"><span>Format</span><select name="form">${Object.entries(FORMATS).map(([form, words]) => html`<option value=${form}>${words}</option>`)}</select></label>
      <fieldset class="field"><legend>When a job</legend>${Object.entries(TYPES).map(
        ([type, words]) => html`<label class="check">
        <input type="checkbox" name="type" value=${type} checked><span>${words}</span></label>`,
      )}</fieldset>
      <p class="answer" role="alert"></p>
      <div class="buttons end"><button type="button" @click=${() => close()}>Cancel</button><button type="submit" class="primary">Create</button></div></form>`,
      { label: "New webhook" },
    );
    if (!created) return;
    this.reload();
    if (!created.secret) return;
    await openDialog(
      (close) => html`<h2>The secret of the webhook</h2>
      <p>The receiver verifies messages with it. It is not shown again.</p>
      <p class="command"><code class="secret">${created.secret}</code>${copyButton(created.secret, "Copy the secret")}</p>
      <div class="buttons end"><button type="button" class="primary" @click=${() => close()}>Done</button></div>`,
      { label: "The secret of the webhook" },
    );
  }

  async send(event, close) {
    event.preventDefault();
    const { url, label, form } = event.target.elements;
    const types = [...event.target.querySelectorAll("[name=type]:checked")].map((box) => box.value);
    try {
      close(
        await api.post("/v1/webhooks", {
          url: url.value.trim(),
          name: label.value.trim(),
          format: form.value || null,
          types,
        }),
      );
    } catch (error) {
      event.target.querySelector("[role=alert]").textContent = [
        error.message,
        ...(error.errors ?? []).map((one) => one.detail),
      ].join(" ");
    }
  }

  async test(webhook) {
    await api.post(`/v1/webhooks/${webhook.id}:test`).then(
      () => toast("A test is on its way"),
      (error) => toast(error.message, { isBad: true }),
    );
    this.reload();
  }

  async show(webhook) {
    const { deliveries } = await api.get(`/v1/webhooks/${webhook.id}/deliveries`);
    await openDialog(
      (close) => html`<h2>Messages to <bdi>${webhook.name || webhook.url}</bdi></h2>
      ${
        deliveries.length
          ? html`<div class="grid-box" tabindex="0" role="region" aria-label="Messages"><table class="grid"><caption>The latest messages</caption>
        <thead><tr><th scope="col">Type</th><th scope="col">State</th><th scope="col">Tries</th><th scope="col">Created</th><th scope="col">Error</th></tr></thead>
        <tbody>${deliveries.map(
          (
            one,
          ) => html`<tr><th scope="row">${one.job_id ? html`<a href="/jobs/${one.job_id}">${one.type}</a>` : one.type}</th>
          <td data-label="State">${badge(one.state, STATES[one.state])}</td><td data-label="Tries">${one.tries}</td><td data-label="Created">${ago(one.created_at)}</td><td data-label="Error">${one.error}</td></tr>`,
        )}</tbody></table></div>`
          : html`<p>Nothing was sent yet.</p>`
      }
      <div class="buttons end"><button type="button" class="primary" @click=${() => close()}>Close</button></div>`,
      { label: "Messages" },
    );
  }

  async remove(webhook) {
    const isSure = await confirmDialog({
      title: `Delete ${webhook.name || webhook.url}?`,
      danger: true,
      confirm: "Delete",
      text: html`<p>Messages that wait for it are deleted, too.</p>`,
    });
    if (!isSure) return;
    await api.delete(`/v1/webhooks/${webhook.id}`).then(
      () => toast("The webhook is deleted"),
      (error) => toast(error.message, { isBad: true }),
    );
    this.reload();
  }

  view(webhooks) {
    if (!webhooks.length) {
      return html`<h1 class="visually-hidden">Webhooks</h1>${empty({
        title: "No webhooks yet",
        text: "A webhook tells a program, a chat or a mail address when a job ends. The operator lists the hosts that may be used.",
        action: { words: "New webhook", act: () => this.create() },
        command: "ipulse webhook add URL",
      })}`;
    }
    const named = (webhook) => webhook.name || webhook.url;
    return html`<div class="head"><h1>Webhooks</h1><div class="buttons"><button type="button" class="primary" @click=${() => this.create()}>${icon("plus")}New webhook</button></div></div>
      <div class="grid-box" tabindex="0" role="region" aria-label="Webhooks"><table class="grid"><caption>Webhooks</caption>
        <thead><tr><th scope="col">Name</th><th scope="col">Format</th><th scope="col">When a job</th><th scope="col">State</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
        <tbody>${repeat(
          webhooks,
          (webhook) => webhook.id,
          (webhook) => html`<tr>
          <th scope="row">${named(webhook)}${webhook.name ? html` <span class="soft small">${webhook.url}</span>` : ""}</th><td data-label="Format">${webhook.format}</td>
          <td data-label="When a job">${webhook.types.map((type) => TYPES[type]).join(", ")}</td><td data-label="State">${webhook.is_on ? badge("on", "succeeded") : html`${badge("off", "cancelled")} ${webhook.reason}`}</td>
          <td class="number"><div class="buttons end">
            <button type="button" aria-label="Messages to ${named(webhook)}" @click=${() => this.show(webhook)}>Messages</button>
            <button type="button" aria-label="Test ${named(webhook)}" @click=${() => this.test(webhook)}>Test</button>
            <button type="button" aria-label="Delete ${named(webhook)}" @click=${() => this.remove(webhook)}>Delete</button></div></td></tr>`,
        )}</tbody></table></div>`;
  }
}
customElements.define("ip-webhooks", WebhooksView);
