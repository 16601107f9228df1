// The result files of a job.
import { complaint, element, renewed, table } from "./element.js";
import { get, request } from "./service.js";
import { bytes, plain } from "./words.js";

const LARGE = 512 * 2 ** 20; // bytes; larger files do not fit into the memory of a browser tab
const COLUMNS = ["Name", "Role", "Size", "", "SHA-256"];

export function files() {
  const heading = element("h2", { hidden: true }, "Files");
  const unlisted = element("div"), unsaved = element("div"); // errors of listing and of saving
  let list = element("div");
  let version = null; // the version of the job that is shown
  const areListed = (job) => version === job.version;

  /** Requests the list only if the job has changed or the last request failed. */
  async function set(job, signal) {
    if (areListed(job)) return;
    version = job.version;
    try {
      const { artifacts } = await get(`/v1/jobs/${job.id}/artifacts`, signal);
      const rows = artifacts.map((file) => [name(job, file), plain(file.role), bytes(file.size), save(job, file, unsaved),
        element("code", { title: `SHA-256 ${file.sha256}` }, file.sha256.slice(0, 12))]);
      heading.hidden = !rows.length;
      list = renewed(list, element("div", {}, rows.length ? table("Files", COLUMNS, rows) : ""));
      unlisted.replaceChildren();
    } catch (error) {
      version = null;
      if (!signal.aborted) unlisted.replaceChildren(complaint(error));
    }
  }

  return { element: element("section", {}, heading, unlisted, unsaved, list), areListed, set };
}

function name(job, artifact) {
  if (artifact.role !== "report") return artifact.name;
  return element("a", { href: `/report#${job.id}/${artifact.id}` }, "Open the report");
}

function save(job, artifact, unsaved) {
  if (artifact.size > LARGE) return element("code", {}, `ipulse download ${job.id}`);
  const act = async (event) => {
    event.target.disabled = true;
    unsaved.replaceChildren();
    try {
      const response = await request(`/v1/jobs/${job.id}/artifacts/${artifact.id}/content`);
      const address = URL.createObjectURL(await response.blob());
      element("a", { href: address, download: artifact.name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } catch (error) {
      unsaved.replaceChildren(complaint(error));
    }
    event.target.disabled = false;
  };
  // The id makes the buttons of files with the same name distinct, such as earlier checkpoints.
  return element("button.quiet", { type: "button", onclick: act, "data-id": artifact.id, "aria-label": `Download ${artifact.name}` }, "Download");
}
