// Keyboard shortcuts of the whole page; a view listens to "shortcut" events for its own.
import { html } from "../vendor.js";
import { pathHere } from "../lib/address.js";
import { openDialog } from "../parts/dialog.js";
import { navigate } from "./router.js";

const KEPT = "ipulse-keys";
const GO = { j: "/jobs", s: "/sweeps", d: "/datasets", o: "/ops", a: "/devices", n: "/new" };
const LIST = [
  ["/", "Search"],
  ["j, k", "Next, previous row"],
  ["x", "Select the row"],
  ["c", "Compare the selected jobs"],
  ["Enter", "Open the row"],
  ["n", "New job"],
  ["Ctrl Enter", "Submit the new job"],
  ["g j, g s, g d, g o, g a", "Jobs, sweeps, data sets, custom ops, devices"],
  ["?", "This list"],
];

let afterG = false;

const areKeysOn = () => localStorage.getItem(KEPT) !== "off";

function isTyping(event) {
  const target = event.composedPath()[0];
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && target.getAttribute("type") !== "checkbox"))
  );
}

export function showKeys() {
  const toggle = (event) => localStorage.setItem(KEPT, event.target.checked ? "on" : "off");
  openDialog(
    (close) => html`
    <h2>Keyboard shortcuts</h2>
    <dl class="keys">${LIST.map(([keys, words]) => html`<div><dt>${keys.split(", ").map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${words}</dd></div>`)}</dl>
    <label class="check"><input type="checkbox" .checked=${areKeysOn()} @change=${toggle}> Use these shortcuts</label>
    <div class="buttons end"><button type="button" class="primary" @click=${() => close()}>Close</button></div>`,
    { label: "Keyboard shortcuts" },
  );
}

export function listenToKeys() {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || !areKeysOn())
      return;
    if (document.querySelector("dialog[open]") || pathHere(location.pathname) === "/login") return;
    if (afterG) {
      afterG = false;
      if (GO[event.key]) {
        event.preventDefault();
        navigate(GO[event.key]);
      }
      return;
    }
    const shortcut = new CustomEvent("shortcut", { detail: event.key, cancelable: true });
    window.dispatchEvent(shortcut);
    if (shortcut.defaultPrevented) event.preventDefault();
    else if (event.key === "g") {
      afterG = true;
      setTimeout(() => {
        afterG = false;
      }, 1000);
    } else if (event.key === "n") {
      event.preventDefault();
      navigate("/new");
    } else if (event.key === "?") showKeys();
    else if (event.key === "/") {
      event.preventDefault();
      navigate("/jobs");
    }
  });
}
