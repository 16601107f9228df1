// Projects, and the members of one with their roles.
import { html, nothing, repeat } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { View } from "../../app/view.js";
import { askAgain, who } from "../../app/session.js";
import { ago } from "../../parts/ago.js";
import { badge } from "../../parts/badge.js";
import { confirmDialog, openDialog } from "../../parts/dialog.js";
import { icon } from "../../parts/icon.js";
import { toast } from "../../parts/toast.js";
import { inForm } from "./forms.js";

const ROLES = {
  viewer: "reads",
  member: "also submits, and changes what it owns",
  developer: "also submits code",
  maintainer: "also changes what others own, and service accounts",
  owner: "also says who is a member",
};

class ProjectsView extends View {
  heading() {
    return this.route.params.name ?? "Projects";
  }

  async load({ params }, signal) {
    const { role } = await who();
    if (params.name)
      return { role, project: await api.get(`/v1/projects/${encodeURIComponent(params.name)}`, { signal }) };
    return { role, projects: (await api.get("/v1/projects", { signal })).projects };
  }

  async create() {
    const send = inForm(({ name, about, open }) =>
      api.post("/v1/projects", { name: name.value.trim(), description: about.value.trim(), is_public: open.checked }),
    );
    const created = await openDialog(
      (close) => html`<form @submit=${(event) => send(event, close)}>
      <h2>New project</h2>
      <label class="field"><span>Name</span><input name="name" required maxlength="63" pattern="[a-z0-9][a-z0-9._@\\-]*" autocomplete="off" placeholder="vision" autofocus></label>
      <label class="field"><span>Description</span><input name="about" maxlength="1000" autocomplete="off"></label>
      <label class="check"><input type="checkbox" name="open"><span>Public <span class="soft">everybody may read it</span></span></label>
      <p class="answer" role="alert"></p>
      <div class="buttons end"><button type="button" @click=${() => close()}>Cancel</button><button type="submit" class="primary">Create</button></div></form>`,
      { label: "New project" },
    );
    if (!created) return;
    await askAgain();
    this.reload();
  }

  async give(project) {
    const send = inForm(({ user, role }) =>
      api.put(`${this.path(project)}/${encodeURIComponent(user.value.trim())}`, { role: role.value }),
    );
    const given = await openDialog(
      (close) => html`<form @submit=${(event) => send(event, close)}>
      <h2>Member of ${project.name}</h2>
      <label class="field"><span>Person or service account</span><input name="user" required maxlength="63" autocomplete="off" autofocus></label>
      <fieldset class="field"><legend>Role</legend>${Object.entries(ROLES).map(
        ([role, words]) => html`<label class="check">
        <input type="radio" name="role" value=${role} ?checked=${role === "member"}><span><strong>${role}</strong> <span class="soft">${words}</span></span></label>`,
      )}</fieldset>
      <p class="answer" role="alert"></p>
      <div class="buttons end"><button type="button" @click=${() => close()}>Cancel</button><button type="submit" class="primary">Save</button></div></form>`,
      { label: "Member" },
    );
    if (given) this.reload();
  }

  async remove(project, member) {
    const isSure = await confirmDialog({
      title: `Remove ${member.name} from ${project.name}?`,
      danger: true,
      confirm: "Remove",
      text: html`<p>What ${member.name} owns there stays.</p>`,
    });
    if (!isSure) return;
    await api
      .delete(`${this.path(project)}/${encodeURIComponent(member.name)}`)
      .catch((error) => toast(error.message, { isBad: true }));
    this.reload();
  }

  path(project) {
    return `/v1/projects/${encodeURIComponent(project.name)}/members`;
  }

  view({ role, project, projects }) {
    return project ? this.one(project) : this.list(role, projects);
  }

  list(role, projects) {
    const button = html`<button type="button" class="primary" @click=${() => this.create()}>${icon("plus")}New project</button>`;
    return html`<div class="head"><h1>Projects</h1>${role === "owner" ? html`<div class="buttons">${button}</div>` : nothing}</div>
      <div class="grid-box" tabindex="0" role="region" aria-label="Projects"><table class="grid"><caption>Projects</caption>
        <thead><tr><th scope="col">Name</th><th scope="col">Description</th><th scope="col">Your role</th><th scope="col">Created</th></tr></thead>
        <tbody>${repeat(
          projects,
          (one) => one.name,
          (one) => html`<tr>
          <th scope="row"><a href="/settings/projects/${encodeURIComponent(one.name)}">${one.name}</a>${one.is_public ? html` ${badge("public", "waiting")}` : nothing}</th>
          <td data-label="Description">${one.description}</td><td data-label="Your role">${one.role ?? ""}</td><td data-label="Created">${ago(one.created_at)}</td></tr>`,
        )}</tbody></table></div>`;
  }

  one(project) {
    const manages = project.allowed.includes("manage_members");
    const add = html`<button type="button" class="primary" @click=${() => this.give(project)}>${icon("plus")}Set a role</button>`;
    return html`<p class="crumbs"><a href="/settings/projects">Projects</a></p>
      <div class="head"><h1>${project.name}</h1>${project.is_public ? badge("public", "waiting") : nothing}
        <div class="buttons"><a class="button" href="/jobs?q=${encodeURIComponent(`project:${project.name}`)}">Jobs</a>${manages ? add : nothing}</div></div>
      ${project.description ? html`<p>${project.description}</p>` : nothing}
      <div class="grid-box" tabindex="0" role="region" aria-label="Members"><table class="grid"><caption>Members</caption>
        <thead><tr><th scope="col">Name</th><th scope="col">Role</th><th scope="col">May</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
        <tbody>${repeat(
          project.members,
          (one) => one.name,
          (
            one,
          ) => html`<tr><th scope="row">${one.name}</th><td data-label="Role">${one.role}</td><td data-label="May" class="soft">${ROLES[one.role]}</td>
          <td class="number">${manages ? html`<button type="button" aria-label="Remove ${one.name}" @click=${() => this.remove(project, one)}>Remove</button>` : nothing}</td></tr>`,
        )}</tbody></table></div>`;
  }
}
customElements.define("ip-projects", ProjectsView);
