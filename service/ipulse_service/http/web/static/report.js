// The report of a job, in a frame without scripts and network access.
import { complaint, element } from "./element.js";
import { request } from "./service.js";

const main = document.getElementById("main");
const [job, artifact] = location.hash.slice(1).split("/");
document.getElementById("back").href = `/#/jobs/${encodeURIComponent(job)}`;
try {
  const path = `/v1/jobs/${encodeURIComponent(job)}/artifacts/${encodeURIComponent(artifact)}/content`;
  const html = await (await request(path)).text();
  main.replaceChildren(element("iframe.report", { sandbox: "", srcdoc: html, title: "Report" }));
} catch (error) {
  main.replaceChildren(complaint(error), element("p", {}, element("a", { href: "/" }, "Sign in")));
}
