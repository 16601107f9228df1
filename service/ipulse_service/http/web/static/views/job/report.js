// The report in a frame without access to the session.
import { navigate } from "../../app/router.js";
import { artifactOf, Tab, contentOf, html, notYet } from "./tab.js";

const VIEWS = ["overview", "log", "profile", "config"]; // that a report may lead to

class Report extends Tab {
  constructor() {
    super();
    this.onMessage = (event) => this.go(event);
  }

  connectedCallback() {
    super.connectedCallback();
    addEventListener("message", this.onMessage);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener("message", this.onMessage);
  }

  load(job, signal) {
    return artifactOf(job.id, "report", signal);
  }

  /** The frame may not navigate; it names a view of its own job. @param {MessageEvent} event */
  go({ source, data }) {
    if (!source || source !== this.querySelector("iframe")?.contentWindow) return;
    if (data?.open === "compare") navigate(`/compare?jobs=${this.job.id}`);
    else if (VIEWS.includes(data?.open))
      navigate(`/jobs/${this.job.id}${data.open === "overview" ? "" : `/${data.open}`}`);
  }

  draw(file) {
    const { job } = this;
    if (!file) return notYet(job, "report");
    return html`<div class="bar"><a class="button" href=${contentOf(job.id, file)} download=${file.name}>Download</a>
        <a class="button" href="/v1/jobs/${job.id}/report" target="_blank" rel="noopener">Open in a tab</a></div>
      <iframe class="report-frame" title="Report of ${job.name || job.id}" src="/v1/jobs/${job.id}/report" sandbox="allow-scripts"></iframe>`;
  }
}
customElements.define("ip-job-report", Report);
