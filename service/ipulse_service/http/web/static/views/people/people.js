// People and service accounts, for administrators: add, disable, make administrators.
import { html, nothing, repeat } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { View } from "../../app/view.js";
import { ago } from "../../parts/ago.js";
import { badge } from "../../parts/badge.js";
import { confirmDialog, openDialog } from "../../parts/dialog.js";
import { icon } from "../../parts/icon.js";
import { toast } from "../../parts/toast.js";
import { inForm } from "./forms.js";

class PeopleView extends View {
  heading() {
    return "People";
  }

  async load(_route, signal) {
    return (await api.get("/v1/users", { signal })).users;
  }

  async create() {
    const send = inForm(({ name, full, admin }) =>
      api.post("/v1/users", { name: name.value.trim(), full_name: full.value.trim(), is_admin: admin.checked }),
    );
    const created = await openDialog(
      (close) => html`<form @submit=${(event) => send(event, close)}>
      <h2>New person</h2>
      <label class="field"><span>Name</span><input name="name" required maxlength="63" pattern="[a-z0-9][a-z0-9._@\\-]*" autocomplete="off" placeholder="alice" autofocus></label>
      <label class="field"><span>Full name</span><input name="full" maxlength="128" autocomplete="off"></label>
      <label class="check"><input type="checkbox" name="admin"><span>Administrator <span class="soft">of all projects and people</span></span></label>
      <p class="answer" role="alert"></p>
      <div class="buttons end"><button type="button" @click=${() => close()}>Cancel</button><button type="submit" class="primary">Add</button></div></form>`,
      { label: "New person" },
    );
    if (!created) return;
    toast(`Give ${created.name} a role in a project, and a token`);
    this.reload();
  }

  async change(user, changes, question) {
    const isSure = await confirmDialog({ title: question, danger: true, confirm: "Yes" });
    if (!isSure) return;
    await api
      .patch(`/v1/users/${encodeURIComponent(user.name)}`, changes)
      .catch((error) => toast(error.message, { isBad: true }));
    this.reload();
  }

  view(users) {
    return html`<div class="head"><h1>People</h1><div class="buttons">
        <button type="button" class="primary" @click=${() => this.create()}>${icon("plus")}New person</button></div></div>
      <div class="grid-box" tabindex="0" role="region" aria-label="People"><table class="grid"><caption>People and service accounts</caption>
        <thead><tr><th scope="col">Name</th><th scope="col">Kind</th><th scope="col">Roles</th><th scope="col">Added</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
        <tbody>${repeat(
          users,
          (user) => user.name,
          (user) => html`<tr>
          <th scope="row">${user.name} ${user.full_name === user.name ? nothing : html`<span class="soft small">${user.full_name}</span>`}</th>
          <td data-label="Kind">${user.kind === "service" ? "service account" : user.is_admin ? "administrator" : "person"}${user.is_disabled ? html` ${badge("disabled", "cancelled")}` : ""}</td>
          <td data-label="Roles">${Object.entries(user.roles).map(
            ([project, role], index) =>
              html`${index ? ", " : ""}<a class="in-text" href="/settings/projects/${encodeURIComponent(project)}">${project}</a> ${role}`,
          )}</td>
          <td data-label="Added">${ago(user.created_at)}</td>
          <td class="number">${
            user.is_disabled
              ? html`<button type="button" aria-label="Enable ${user.name}" @click=${() => this.change(user, { is_disabled: false }, `Enable ${user.name}?`)}>Enable</button>`
              : html`<button type="button" aria-label="Disable ${user.name}" @click=${() => this.change(user, { is_disabled: true }, `Disable ${user.name}, with all tokens and sessions?`)}>Disable</button>`
          }</td></tr>`,
        )}</tbody></table></div>`;
  }
}
customElements.define("ip-people", PeopleView);
