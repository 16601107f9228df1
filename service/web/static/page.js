// Which view the address names, and that somebody is signed in before it is shown.
import { complaint } from "./element.js";
import { job } from "./job.js";
import { jobs } from "./jobs.js";
import { token } from "./service.js";
import { signIn } from "./signin.js";
import { submit } from "./submit.js";

const AGAIN = 2000; // ms after which a service that did not answer is asked again
const main = document.getElementById("main");
const links = document.querySelector("header nav");
let leaving = new AbortController();

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  links.hidden = !token.get();
  if (!token.get()) {
    signIn(main, show);
    return;
  }
  const [path, query = ""] = location.hash.slice(1).split("?");
  const parameters = new URLSearchParams(query);
  const id = /^\/jobs\/(job_[0-9a-f]+)$/.exec(path)?.[1];
  document.title = "IPUlse";
  try {
    if (id) await job(main, id, signal);
    else if (path === "/submit") await submit(main, parameters, signal);
    else await jobs(main, parameters, signal);
  } catch (error) {
    if (signal.aborted) return;
    main.replaceChildren(complaint(error));
    const isFinal = error.status >= 400 && error.status < 500;
    if (!isFinal) setTimeout(() => signal.aborted || show(), AGAIN);
  }
}

window.addEventListener("hashchange", () => show().then(() => main.focus({ preventScroll: true })));
window.addEventListener("not-authenticated", () => {
  if (!token.get()) return;
  token.forget();
  show();
});
document.getElementById("sign-out").addEventListener("click", () => {
  token.forget();
  show();
});
show();
