// Shows the view that the address names, after signing in.
import { complaint } from "./element.js";
import { job } from "./job.js";
import { jobs } from "./jobs.js";
import { token } from "./service.js";
import { signIn } from "./signin.js";
import { submit } from "./submit.js";

const AGAIN = 2000; // ms before a request is repeated when the service does not answer
const main = document.getElementById("main");
const links = document.querySelector("header nav");
let leaving = new AbortController();

/** `why`: the reason for asking for a token again. */
async function show(why = "") {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  links.hidden = !token.get();
  document.title = "IPUlse";
  if (!token.get()) {
    signIn(main, show, why);
    return;
  }
  const [path, query = ""] = location.hash.slice(1).split("?");
  const parameters = new URLSearchParams(query);
  const id = /^\/jobs\/(job_[0-9a-f]+)$/.exec(path)?.[1];
  try {
    if (id) await job(main, id, signal);
    else if (path === "/submit") await submit(main, parameters, signal);
    else await jobs(main, parameters, signal);
  } catch (error) {
    if (signal.aborted) return;
    main.replaceChildren(complaint(error));
    if (!error.isFinal) setTimeout(() => signal.aborted || show(), AGAIN);
  }
}

window.addEventListener("hashchange", () => {
  const filter = document.activeElement.getAttribute("name"); // it is drawn again
  main.focus({ preventScroll: true });
  show();
  if (filter) main.querySelector(`[name="${filter}"]`)?.focus();
});
window.addEventListener("not-authenticated", () => {
  token.forget();
  show("This token is no longer valid: it has expired or was revoked.");
});
document.getElementById("sign-out").addEventListener("click", () => {
  token.forget();
  show();
});
show();
