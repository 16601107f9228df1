// The files that a job has left.
import { complaint, element, table } from "./element.js";
import { get, request } from "./service.js";
import { bytes, plain } from "./words.js";

const LARGE = 512 * 2 ** 20; // bytes: more than a browser should hold in memory

/** Lists them in `box`; asks again only when the job has changed. */
export async function files(box, job, signal) {
  if (box.dataset.version === String(job.version)) return;
  box.dataset.version = String(job.version);
  const { artifacts } = await get(`/v1/jobs/${job.id}/artifacts`, signal);
  if (!artifacts.length) return;
  const failed = element("div");
  const rows = artifacts.map((one) => [name(job, one), plain(one.role), bytes(one.size), save(job, one, failed),
    element("code", { title: `SHA-256 ${one.sha256}` }, one.sha256.slice(0, 12))]);
  box.replaceChildren(element("section", {}, element("h2", {}, "Files"), failed,
    table("Files", ["Name", "Role", "Size", "", "SHA-256"], rows)));
}

function name(job, artifact) {
  if (artifact.role !== "report") return artifact.name;
  return element("a", { href: `/report#${job.id}/${artifact.id}` }, "Open the report");
}

function save(job, artifact, failed) {
  if (artifact.size > LARGE) return element("code", {}, `ipulse download ${job.id}`);
  const act = async (event) => {
    event.target.disabled = true;
    failed.replaceChildren();
    try {
      const response = await request(`/v1/jobs/${job.id}/artifacts/${artifact.id}/content`);
      const address = URL.createObjectURL(await response.blob());
      element("a", { href: address, download: artifact.name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } catch (error) {
      failed.replaceChildren(complaint(error));
    }
    event.target.disabled = false;
  };
  return element("button.quiet", { type: "button", onclick: act, "aria-label": `Download ${artifact.name}` }, "Download");
}
