// The session of this browser: a cookie that scripts cannot read, got for a one-time code or a token.
import { html, nothing } from "../vendor.js";
import { address, pathHere, prefix } from "../lib/address.js";
import { api, session } from "../lib/api.js";
import { openDialog } from "../parts/dialog.js";
import { said } from "../parts/said.js";

/** @type {Promise<void> | null} */
let asking = null;
/**
 * @typedef {{name: string, role: string, expires_at: string | null, submit_code: boolean, version: string,
 * projects: Record<string, string[]>}} Person
 */
/** @type {Promise<Person> | null} */
let person = null;
/** @type {Person | null} the answer for `person` */
let known = null;

const PROJECT = "ipulse-project"; // that was chosen last
const DEFAULT_PROJECT = "default";
const PLACE = "ipulse-page"; // the address of the page under its own name; "here": stay

/** Whether programs at other ports get the cookies of this address. */
function isShared() {
  return !prefix && location.protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname);
}

/** Leaves for the page's own name, if this browser has signed in there before. @param {string} path */
export function goHome(path) {
  const place = isShared() && localStorage.getItem(PLACE);
  if (!place || place === "here") return false;
  location.replace(place + path);
  return true;
}

/** Says where the page opens, and offers to stay, for browsers that do not find the name. */
export function placeHint() {
  const place = isShared() && localStorage.getItem(PLACE);
  if (!place) return nothing;
  if (place === "here")
    return html`<p class="soft small">Each program that listens at a port of ${location.hostname} gets the cookie of your session when you
      open it in this browser.</p>`;
  const stay = () => {
    localStorage.setItem(PLACE, "here");
    location.reload();
  };
  return html`<p class="soft small">The page opens at ${place}, so that no program at another port gets its cookie. If your browser does
    not find this address, stay: <button type="button" @click=${stay}>Sign in here</button></p>`;
}

/**
 * Trades a one-time code or a token for the session cookie. Returns a code if it leaves for the page's own name.
 * @param {{code: string} | {token: string}} proof
 * @param {boolean} stays whether it never leaves, because of what somebody has written in the page
 */
export async function signIn(proof, stays = false) {
  const token = "token" in proof ? proof.token : proof.code;
  if (!/^[!-~]+$/.test(token)) throw new Error("A token contains only ASCII characters and no spaces.");
  const options = { headers: { authorization: `Bearer ${token}` }, isTry: true };
  if (!stays && isShared() && localStorage.getItem(PLACE) !== "here") {
    const made = await api.post("/v1/sign-in-codes", undefined, options);
    if (made.page_url) {
      localStorage.setItem(PLACE, made.page_url);
      const back =
        pathHere(location.pathname) === "/login"
          ? location.search
          : `?to=${encodeURIComponent(pathHere(location.pathname))}`;
      location.assign(`${made.page_url}/login${back}#code=${made.code}`);
      return made.code;
    }
  }
  await api.post("/v1/sessions", undefined, options);
  person = null;
  dispatchEvent(new CustomEvent("signed-in"));
}

/** Who is signed in. */
export function who() {
  person ??= api
    .get("/v1/session")
    .then((found) => {
      known = found;
      choose();
      return found;
    })
    .catch((error) => {
      person = null;
      throw error;
    });
  return person;
}

/** Asks again who is signed in, after a change of what they may do. */
export function askAgain() {
  person = null;
  return who();
}

/** The projects in which who is signed in may do something; none until that is known. @param {string} action */
export const projectsTo = (action) =>
  Object.keys(known?.projects ?? {}).filter((name) => known.projects[name].includes(action));

/** Whether who is signed in may submit jobs; until that is known, yes. */
export const maySubmit = () => !known || projectsTo("submit").length > 0;

/** Chooses the project to which the page adds, if there are several. */
function choose(wanted = localStorage.getItem(PROJECT) ?? DEFAULT_PROJECT) {
  const all = projectsTo("submit");
  session.project = all.length < 2 ? null : all.includes(wanted) ? wanted : all[0];
}

/**
 * The choice of the project to which the page adds, for people with several.
 * @param {() => void} [done] after a change
 */
export function projectField(done = () => {}) {
  if (session.project === null) return nothing;
  const change = (event) => {
    localStorage.setItem(PROJECT, event.target.value);
    choose();
    done();
  };
  return html`<label class="field"><span>Project</span><select name="project" @change=${change}>${projectsTo(
    "submit",
  ).map(
    (name) => html`<option value=${name} ?selected=${name === session.project}>${name}</option>`,
  )}</select></label>`;
}

/** Leaves to the sign-in after the session has ended. */
export function forget() {
  person = null;
  location.assign(address("/login"));
}

/** The form that asks for a token; calls `done` after the service has accepted it, with a code if it leaves. */
export function tokenForm(done, why = "", stays = false) {
  const submit = async (event) => {
    event.preventDefault();
    const form = event.target;
    const answer = form.querySelector("[role=alert]");
    const field = form.elements.token;
    form.elements.send.disabled = true;
    try {
      done(await signIn({ token: field.value.trim() }, stays));
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
    ${placeHint()}
  </form>`;
}

session.renew = () => {
  if (pathHere(location.pathname) === "/login") return Promise.reject(new Error("not signed in"));
  asking ??= ask().finally(() => {
    asking = null;
  });
  return asking;
};

async function ask() {
  const isFirst = !document.querySelector("main")?.textContent.trim();
  if (isFirst) {
    const back = pathHere(location.pathname) + location.search + location.hash;
    if (goHome(back)) await new Promise(() => {});
    location.replace(
      `${address("/login")}${back === "/" || back === "/jobs" ? "" : `?to=${encodeURIComponent(back)}`}`,
    );
    await new Promise(() => {}); // the page is left
  }
  for (;;) {
    const isDone = await openDialog(
      (close) =>
        tokenForm(() => close(true), "Your session has ended. Sign in again; nothing that you wrote is lost.", true),
      { label: "Sign in" },
    );
    if (isDone) return;
  }
}
