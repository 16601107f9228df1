// Access tokens: create, show once, revoke.
import { html, nothing, repeat } from "../../vendor.js";
import { projectsTo, who } from "../../app/session.js";
import { api, session } from "../../lib/api.js";
import { View } from "../../app/view.js";
import { ago } from "../../parts/ago.js";
import { badge } from "../../parts/badge.js";
import { copyButton } from "../../parts/copy.js";
import { confirmDialog, openDialog } from "../../parts/dialog.js";
import { icon } from "../../parts/icon.js";
import { empty } from "../../parts/states.js";
import { toast } from "../../parts/toast.js";

const ROLES = { reader: "reads jobs and results", user: "also submits jobs, and changes its own" };
const SCOPES = { reader: ["read"], user: ["read", "submit"] };
const DAY = 86_400;
const LIVES = [
  [1, "1 day"],
  [7, "7 days"],
  [30, "30 days"],
  [90, "90 days"],
  [365, "1 year"],
];

class TokensView extends View {
  heading() {
    return "Tokens";
  }

  async load(_route, signal) {
    const [{ tokens }, person] = await Promise.all([api.get("/v1/tokens", { signal }), who()]);
    return { tokens, person };
  }

  /** For whom a token is: a new service account, or who is signed in. @param {string[]} projects of accounts */
  holders(projects) {
    return html`<fieldset class="field"><legend>For</legend>
      <label class="check"><input type="radio" name="holder" value="" checked><span>a service account <span class="soft">that is made for it, in the project</span></span>
        <select name="account_project" aria-label="Project of the service account">${projects.map((name) => html`<option value=${name} ?selected=${name === (session.project ?? "default")}>${name}</option>`)}</select></label>
      <label class="check"><input type="radio" name="holder" value="me"><span>yourself <span class="soft">it acts as you</span></span></label></fieldset>`;
  }

  async create() {
    const accounts = projectsTo("manage_accounts");
    const created = await openDialog(
      (close) => html`<form @submit=${(event) => this.send(event, close)}>
      <h2>New token</h2>
      <label class="field"><span>Name</span><input name="name" required maxlength="128" autocomplete="off" placeholder="Who or what uses it" autofocus></label>
      ${accounts.length ? this.holders(accounts) : nothing}
      <fieldset class="field"><legend>Role</legend>${Object.entries(ROLES).map(
        ([role, words]) => html`<label class="check">
        <input type="radio" name="role" value=${role} ?checked=${role === "user"}><span><strong>${role}</strong> <span class="soft">${words}</span></span></label>`,
      )}</fieldset>
      <label class="check"><input type="checkbox" name="code"><span>May submit code <span class="soft">Poplar programs and custom ops, which workers build and run; role user only</span></span></label>
      <label class="field"><span>Valid for</span><select name="days">${LIVES.map(([days, words]) => html`<option value=${days} ?selected=${days === 90}>${words}</option>`)}</select></label>
      <p class="answer" role="alert"></p>
      <div class="buttons end"><button type="button" @click=${() => close()}>Cancel</button><button type="submit" class="primary">Create</button></div></form>`,
      { label: "New token" },
    );
    if (!created) return;
    this.reload();
    await openDialog(
      (close) => html`<h2>${created.about.name}</h2>
      <p>Copy the token now. It is not shown again.</p>
      <p class="command"><code class="secret">${created.token}</code>${copyButton(created.token, "Copy the token")}</p>
      <div class="buttons end"><button type="button" class="primary" @click=${() => close()}>Done</button></div>`,
      { label: "The new token" },
    );
  }

  async send(event, close) {
    event.preventDefault();
    const { name, role, days, code, holder, account_project: of } = event.target.elements;
    const isAccount = holder?.value === "";
    try {
      close(
        await api.post("/v1/tokens", {
          name: name.value.trim(),
          ...(isAccount ? { role: role.value, project: of.value } : { scopes: SCOPES[role.value] }),
          seconds: Number(days.value) * DAY,
          submit_code: code.checked,
        }),
      );
    } catch (error) {
      event.target.querySelector("[role=alert]").textContent = [
        error.message,
        ...(error.errors ?? []).map((one) => one.detail),
      ].join(" ");
    }
  }

  async revoke(token) {
    const isSure = await confirmDialog({
      title: `Revoke ${token.name}?`,
      danger: true,
      confirm: "Revoke",
      text: html`<p>Programs and browsers that use it are refused at once.</p>`,
    });
    if (!isSure) return;
    await api.delete(`/v1/tokens/${token.id}`).then(
      () => toast(`${token.name} is revoked`),
      (error) => toast(error.message, { isBad: true }),
    );
    this.reload();
  }

  view({ tokens, person }) {
    const mayChange = person.role !== "reader";
    const isOld = (token) => Date.parse(token.expires_at) <= Date.now();
    const button = html`<button type="button" class="primary" @click=${() => this.create()}>${icon("plus")}New token</button>`;
    if (!tokens.length) {
      return html`<h1 class="visually-hidden">Tokens</h1>${empty({
        title: "No tokens yet",
        text: "A token lets a program or a colleague use this service with a role of its own, until a day that you choose.",
        ...(mayChange
          ? {
              action: { words: "New token", act: () => this.create() },
              command: `ipulse token create NAME ${projectsTo("manage_accounts").length ? "--role user" : "--user me"}`,
            }
          : {}),
      })}`;
    }
    return html`<div class="head"><h1>Tokens</h1>${mayChange ? html`<div class="buttons">${button}</div>` : nothing}</div>
      <div class="grid-box" tabindex="0" role="region" aria-label="Tokens"><table class="grid"><caption>Access tokens</caption>
        <thead><tr><th scope="col">Name</th><th scope="col">User</th><th scope="col">Role</th><th scope="col">Last used</th><th scope="col">Expires</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
        <tbody>${repeat(
          tokens,
          (token) => token.id,
          (token) => html`<tr>
          <th scope="row">${token.name} <span class="soft small id">${token.id.slice(0, 6)}</span></th><td data-label="User">${token.user ?? ""}</td><td data-label="Role">${token.role}${token.submit_code ? html` <span class="soft small">submits code</span>` : ""}</td><td data-label="Last used">${token.last_used_at ? ago(token.last_used_at) : "never"}</td>
          <td data-label="Expires">${isOld(token) ? badge("expired", "cancelled") : ago(token.expires_at)}</td>
          <td class="number">${mayChange ? html`<button type="button" aria-label="Revoke ${token.name}" @click=${() => this.revoke(token)}>Revoke</button>` : nothing}</td></tr>`,
        )}</tbody></table></div>`;
  }
}
customElements.define("ip-tokens", TokensView);
