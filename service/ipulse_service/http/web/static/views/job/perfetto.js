// Hands a trace to the Perfetto viewer in a tab of its own, after the person has agreed.
import { html } from "../../vendor.js";
import { confirmDialog } from "../../parts/dialog.js";
import { toast } from "../../parts/toast.js";

const ORIGIN = "https://ui.perfetto.dev";
const EVERY = 100; // ms between two calls
const PATIENCE = 30_000; // ms

/** @param {string} title @param {() => Promise<ArrayBuffer>} read the content of the trace */
export async function openInPerfetto(title, read) {
  const text = html`<p>The viewer at <code>ui.perfetto.dev</code> opens in another tab and receives this trace. It works in your browser and stores nothing elsewhere.</p>`;
  if (!(await confirmDialog({ title: "Open in Perfetto?", text, confirm: "Open" }))) return;
  const viewer = window.open(ORIGIN);
  if (!viewer) {
    toast("The browser has blocked the new tab. Allow it for this page, or download the trace.", { isBad: true });
    return;
  }
  try {
    const [buffer] = await Promise.all([read(), answered(viewer)]);
    viewer.postMessage({ perfetto: { buffer, title } }, ORIGIN);
  } catch (error) {
    toast(error.message, { isBad: true });
  }
}

/** Resolves when the viewer answers the calls. @param {Window} viewer */
function answered(viewer) {
  return new Promise((resolve, reject) => {
    const began = Date.now();
    const end = (settle) => {
      clearInterval(calls);
      removeEventListener("message", listen);
      settle();
    };
    const listen = (event) => {
      if (event.origin === ORIGIN && event.data === "PONG") end(resolve);
    };
    const calls = setInterval(() => {
      if (viewer.closed || Date.now() - began > PATIENCE)
        end(() => reject(new Error("Perfetto does not answer. Download the trace and open it there.")));
      else viewer.postMessage("PING", ORIGIN);
    }, EVERY);
    addEventListener("message", listen);
  });
}
