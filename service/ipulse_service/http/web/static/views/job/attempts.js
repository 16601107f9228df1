// The attempts of a job.
import { duration, plain } from "../../lib/format.js";
import { ago } from "../../parts/ago.js";
import { empty } from "../../parts/states.js";
import { Tab, html, nothing } from "./tab.js";

class Attempts extends Tab {
  draw() {
    const { attempts } = this.job;
    if (!attempts.length)
      return empty({ title: "No attempt yet", text: "An attempt begins when an agent takes the job." });
    return html`<div class="grid-box"><table class="grid"><caption>Attempts</caption>
      <thead><tr><th scope="col">Attempt</th><th scope="col">Agent</th><th scope="col">Started</th><th scope="col" class="number">Duration</th>
        <th scope="col">Outcome</th><th scope="col">Message</th></tr></thead>
      <tbody>${[...attempts].reverse().map(
        (attempt) => html`<tr>
        <th scope="row" data-label="Attempt">${attempt.number}</th>
        <td data-label="Agent"><a href="/devices">${attempt.agent}</a></td>
        <td data-label="Started">${ago(attempt.started_at)}</td>
        <td data-label="Duration" class="number">${took(attempt)}</td>
        <td data-label="Outcome">${attempt.reason ? plain(attempt.reason) : attempt.finished_at ? nothing : "running"}</td>
        <td data-label="Message" class="wrapped">${attempt.message}</td></tr>`,
      )}</tbody></table></div>`;
  }
}

function took({ started_at: start, finished_at: end }) {
  return start ? duration(((end ? Date.parse(end) : Date.now()) - Date.parse(start)) / 1000) : "";
}
customElements.define("ip-job-attempts", Attempts);
