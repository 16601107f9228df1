// The report in a frame without access to the session.
import { artifactOf, Tab, contentOf, html, notYet } from "./tab.js";

class Report extends Tab {
  load(job, signal) { return artifactOf(job.id, "report", signal); }

  draw(file) {
    const { job } = this;
    if (!file) return notYet(job, "report");
    return html`<div class="bar"><a class="button" href=${contentOf(job.id, file)} download=${file.name}>Download</a>
        <a class="button" href="/v1/jobs/${job.id}/report" target="_blank" rel="noopener">Open in a tab</a></div>
      <iframe class="report-frame" title="Report of ${job.name || job.id}" src="/v1/jobs/${job.id}/report" sandbox="allow-scripts allow-popups"></iframe>`;
  }
}
customElements.define("ip-job-report", Report);
