// The browsers in which one is signed in.
import { html, repeat } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { View } from "../../app/view.js";
import { forget } from "../../app/session.js";
import { ago } from "../../parts/ago.js";
import { badge } from "../../parts/badge.js";
import { confirmDialog } from "../../parts/dialog.js";
import { toast } from "../../parts/toast.js";

class SessionsView extends View {
  heading() {
    return "Sessions";
  }

  async load(_route, signal) {
    return (await api.get("/v1/sessions", { signal })).sessions;
  }

  async end(session) {
    const ended = api.delete(session ? `/v1/sessions/${session.id}` : "/v1/sessions");
    const isGone = await ended.then(
      () => !session || session.is_current,
      (error) => {
        toast(error.message, { isBad: true });
        return false;
      },
    );
    if (isGone) forget();
    else this.reload();
  }

  async endAll() {
    const isSure = await confirmDialog({
      title: "End all sessions?",
      danger: true,
      confirm: "End all",
      text: html`<p>All browsers are signed out at once, this one too. Tokens stay valid.</p>`,
    });
    if (isSure) this.end(null);
  }

  view(sessions) {
    return html`<div class="head"><h1>Sessions</h1><div class="buttons">
        <button type="button" @click=${() => this.endAll()}>End all sessions</button></div></div>
      <div class="grid-box" tabindex="0" role="region" aria-label="Sessions"><table class="grid"><caption>Browsers in which you are signed in</caption>
        <thead><tr><th scope="col">Session</th><th scope="col">Began</th><th scope="col">Ends</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
        <tbody>${repeat(
          sessions,
          (one) => one.id,
          (
            one,
          ) => html`<tr><th scope="row"><span class="id">${one.id.slice(0, 6)}</span>${one.is_current ? html` ${badge("this browser", "active")}` : ""}</th>
          <td data-label="Began">${ago(one.created_at)}</td><td data-label="Ends">${ago(one.expires_at)}</td>
          <td class="number"><button type="button" aria-label="End the session ${one.id.slice(0, 6)}" @click=${() => this.end(one)}>End</button></td></tr>`,
        )}</tbody></table></div>`;
  }
}
customElements.define("ip-sessions", SessionsView);
