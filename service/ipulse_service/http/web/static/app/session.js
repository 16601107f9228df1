// The session of this browser: a cookie that scripts cannot read, got for a one-time code or a token.
import { html, nothing } from "../vendor.js";
import { api, session } from "../lib/api.js";
import { openDialog } from "../parts/dialog.js";
import { said } from "../parts/said.js";

/** @type {Promise<void> | null} */
let asking = null;
/**
 * @type {Promise<{name: string, role: string, expires_at: string | null, submit_code: boolean, version: string}> |
 * null}
 */
let person = null;

/** Trades a one-time code or a token for the session cookie. @param {{code: string} | {token: string}} proof */
export async function signIn(proof) {
  const token = "token" in proof ? proof.token : proof.code;
  if (!/^[!-~]+$/.test(token)) throw new Error("A token contains only ASCII characters and no spaces.");
  await api.post("/v1/sessions", undefined, { headers: { authorization: `Bearer ${token}` }, isTry: true });
  person = null;
  dispatchEvent(new CustomEvent("signed-in"));
}

/** Who is signed in. */
export function who() {
  person ??= api.get("/v1/session").catch((error) => {
    person = null;
    throw error;
  });
  return person;
}

/** Leaves to the sign-in after the session has ended. */
export function forget() {
  person = null;
  location.assign("/login");
}

/** The form that asks for a token; calls `done` after the service has accepted it. */
export function tokenForm(done, why = "") {
  const submit = async (event) => {
    event.preventDefault();
    const form = event.target;
    const answer = form.querySelector("[role=alert]");
    const field = form.elements.token;
    form.elements.send.disabled = true;
    try {
      await signIn({ token: field.value.trim() });
      done();
    } catch (error) {
      answer.textContent =
        error.status === 401
          ? "The service does not accept this token. It may have expired or been revoked; ipulse token create makes another."
          : error.message;
      field.select();
    } finally {
      form.elements.send.disabled = false;
    }
  };
  return html`<form class="sign-in" @submit=${submit}>
    <h1>Sign in</h1>
    ${why ? html`<p class="note">${said(why)}</p>` : nothing}
    <input class="visually-hidden" type="text" name="username" autocomplete="username" value="ipulse" tabindex="-1" aria-hidden="true">
    <label class="field"><span>Token</span>
      <input id="token" name="token" type="password" autocomplete="current-password" spellcheck="false" required autofocus></label>
    <p class="answer" role="alert"></p>
    <button class="primary wide" name="send" type="submit">Sign in</button>
    <p class="soft small">On the machine that runs the service, <code>ipulse open</code> signs a browser in. <code>ipulse up</code> prints the
      file that contains the owner's token, and <code>ipulse token create</code> makes more.</p>
  </form>`;
}

session.renew = () => {
  if (location.pathname === "/login") return Promise.reject(new Error("not signed in"));
  asking ??= ask().finally(() => {
    asking = null;
  });
  return asking;
};

async function ask() {
  const isFirst = !document.querySelector("main")?.textContent.trim();
  if (isFirst) {
    const back = location.pathname + location.search + location.hash;
    location.replace(`/login${back === "/" || back === "/jobs" ? "" : `?to=${encodeURIComponent(back)}`}`);
    await new Promise(() => {}); // the page is left
  }
  for (;;) {
    const isDone = await openDialog(
      (close) => tokenForm(() => close(true), "Your session has ended. Sign in again; nothing that you wrote is lost."),
      { label: "Sign in" },
    );
    if (isDone) return;
  }
}
