// Uploads a file in parts, so that a broken connection costs one part only.
import { html, render } from "../../vendor.js";
import { projectField } from "../../app/session.js";
import { Unreachable, api } from "../../lib/api.js";
import { bytes } from "../../lib/format.js";
import { openDialog } from "../../parts/dialog.js";
import { bar } from "../../parts/meter.js";
import { problem } from "../../parts/states.js";

const PART = 8 * 2 ** 20; // bytes
const LARGEST = 1024 * 2 ** 20; // bytes; the digest of a larger file does not fit into a tab
const PAUSE = 1500; // ms before a part is sent again
const TRIES = 8;

const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const sleep = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** A name for a data set from that of its file. */
function nameFrom(file) {
  const name = file.name
    .replace(/(\.(npz|h5|hdf5|csv|tsv|txt|zip|tar|gz|tgz))+$/i, "")
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "");
  return name.slice(0, 128) || "data";
}

/** Sends a file and creates a version of a data set; calls `say(words, share)`. */
async function upload(file, name, say, signal) {
  if (!crypto.subtle)
    throw new Error(
      "A browser computes digests only over HTTPS or on the service's own machine. Use `ipulse data push`.",
    );
  if (file.size > LARGEST)
    throw new Error(`The file has ${bytes(file.size)}. Use \`ipulse data push\` for files over ${bytes(LARGEST)}.`);
  say("Computing the digest", 0);
  const sha256 = hex(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  const begun = await api.post("/v1/uploads", { size: file.size, sha256, purpose: "dataset" }, { signal });
  let { offset } = begun;
  for (let tries = 0; !begun.complete && offset < file.size; ) {
    say(`${bytes(offset)} of ${bytes(file.size)}`, offset / file.size);
    try {
      const headers = { "content-type": "application/octet-stream", "upload-offset": String(offset) };
      const answer = await api.raw("PATCH", `/v1/uploads/${begun.id}`, {
        body: file.slice(offset, offset + PART),
        headers,
        signal,
      });
      offset = Number(answer.headers.get("upload-offset"));
      tries = 0;
    } catch (error) {
      if ((!(error instanceof Unreachable) && error.code !== "wrong_offset") || tries >= TRIES) throw error;
      tries += 1;
      await sleep(PAUSE);
      offset = await api.get(`/v1/uploads/${begun.id}`, { signal }).then(
        (state) => state.offset,
        () => offset,
      );
    }
  }
  say("Checking the content", 1);
  let version = await api.post(
    `/v1/datasets/${encodeURIComponent(name)}/versions`,
    { upload_id: begun.id },
    { signal },
  );
  while (version.state === "checking") {
    version = await api.get(`/v1/datasets/${encodeURIComponent(name)}/versions/${version.version}`, {
      headers: { prefer: "wait=20" },
      signal,
    });
  }
  return version;
}

/** Asks for a file, unless one is given, and a name; resolves with the new version. @param {File} [given] */
export function uploadDialog(given) {
  const leaving = new AbortController();
  const answer = openDialog(
    (close) => {
      const begin = async (event) => {
        event.preventDefault();
        const form = event.target;
        const place = form.querySelector(".upload-bar");
        const file = given ?? form.elements.file.files[0];
        const say = (words, share) => render(html`<p role="status">${words}</p>${bar(share, "Upload")}`, place);
        form.elements.send.disabled = true;
        try {
          close(await upload(file, form.elements.name.value.trim(), say, leaving.signal));
        } catch (error) {
          if (!leaving.signal.aborted) render(problem(error), place);
          form.elements.send.disabled = false;
        }
      };
      const choose = (event) => {
        const field = event.target.form.elements.name;
        if (!field.value && event.target.files[0]) field.value = nameFrom(event.target.files[0]);
      };
      return html`<form @submit=${begin}><h2>Upload a data set</h2>
      ${given ? html`<p><strong>${given.name}</strong> <span class="soft">${bytes(given.size)}</span></p>` : html`<label class="field"><span>File</span><input type="file" name="file" required @change=${choose}></label>`}
      <label class="field"><span>Name</span><input name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._\\-]{0,127}" autocomplete="off" .value=${given ? nameFrom(given) : ""}></label>
      ${projectField()}
      <p class="soft small">A name that exists gets another version.</p>
      <div class="upload-bar"></div>
      <div class="buttons end"><button type="button" @click=${() => close()}>Cancel</button><button type="submit" name="send" class="primary">Upload</button></div></form>`;
    },
    { label: "Upload a data set" },
  );
  return answer.finally(() => leaving.abort());
}
