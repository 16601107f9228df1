// A program that signs in: a person compares its code, and lets it or not.
import { html } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { View } from "../../app/view.js";
import { who } from "../../app/session.js";
import { navigate } from "../../app/router.js";

const SCOPES = {
  read: "read what you may read",
  submit: "submit, and change what is yours",
  code: "submit programs and custom ops",
  manage: "change what others own, members and accounts, where you may",
  admin: "administer the service",
};

class DeviceView extends View {
  static properties = { ...View.properties, answer: { state: true } };

  constructor() {
    super();
    this.answer = "";
  }

  loadKey(route) {
    return `${route.path}?${new URLSearchParams(location.search).get("code") ?? ""}`;
  }

  async load(_route, signal) {
    const code = new URLSearchParams(location.search).get("code");
    const person = await who();
    if (!code) return { person };
    try {
      const program = await api.get(`/v1/auth/device/codes/${encodeURIComponent(code)}`, { signal });
      return { person, program };
    } catch (error) {
      if (error.status !== 404) throw error;
      return { person, why: error.message };
    }
  }

  async say(program, allow) {
    try {
      await api.post("/v1/auth/device/answer", { user_code: program.user_code, allow });
      this.answer = allow
        ? `${program.client} is signed in. You can close this page.`
        : `${program.client} was refused.`;
    } catch (error) {
      this.answer = error.message;
    }
  }

  look(event) {
    event.preventDefault();
    const code = event.target.elements.code.value.trim();
    navigate(`/device?code=${encodeURIComponent(code)}`);
    this.renew();
  }

  view({ person, program, why }) {
    if (this.answer)
      return html`<div class="card narrow"><h1>Sign in a program</h1><p role="status">${this.answer}</p></div>`;
    if (!program) {
      return html`<form class="card narrow sign-in" @submit=${(event) => this.look(event)}>
        <h1>Sign in a program</h1>
        <label class="field"><span>Code that the program shows</span>
          <input name="code" required maxlength="32" autocomplete="off" placeholder="ABCD-EFGH" autofocus></label>
        <p class="answer" role="alert">${why ?? ""}</p>
        <button class="primary wide" type="submit">Continue</button></form>`;
    }
    return html`<div class="card narrow">
      <h1>Sign in a program?</h1>
      <p>A program on <strong>${program.client}</strong> asks to work in the name of <strong>${person.name}</strong>. It shows the code</p>
      <p class="command"><code class="secret">${program.user_code}</code></p>
      <p>Confirm only if you have just run <code>ipulse login</code> there and it shows this code. For 30 days it may</p>
      <ul>${program.scopes.map((scope) => html`<li>${SCOPES[scope]}</li>`)}</ul>
      <div class="buttons end"><button type="button" @click=${() => this.say(program, false)}>Refuse</button>
        <button type="button" class="primary" @click=${() => this.say(program, true)}>Confirm</button></div></div>`;
  }
}
customElements.define("ip-device", DeviceView);
