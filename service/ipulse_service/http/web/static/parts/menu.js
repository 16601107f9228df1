// A button that opens a list of actions below it.
import { html, nothing } from "../vendor.js";
import { icon } from "./icon.js";

let count = 0;
const ids = new WeakMap();

function close(event) {
  // An action may have removed its own item already.
  if (event.target !== event.currentTarget) event.currentTarget.hidePopover?.();
}

function place(event) {
  const list = event.target;
  if (event.newState !== "open") return;
  const box = document.querySelector(`[popovertarget="${list.id}"]`).getBoundingClientRect();
  const left = Math.max(8, Math.min(box.left, innerWidth - list.offsetWidth - 8));
  const isBelow = box.bottom + list.offsetHeight + 8 < innerHeight || box.top < list.offsetHeight;
  list.style.left = `${left}px`;
  list.style.top = `${isBelow ? box.bottom + 4 : box.top - list.offsetHeight - 4}px`;
}

/**
 * @typedef {{words: string, act?: () => void, href?: string, isDangerous?: boolean, isChecked?: boolean, isHidden?:
 * boolean, isText?: boolean}} Item
 * @param {unknown} label the content of the button @param {(Item | null)[]} items
 * @param {{name?: string, kind?: string, key?: object}} [options] `key`: an object that stays the same, such as the
 * view
 */
export function menu(label, items, { name = "", kind = "", key = menu } = {}) {
  const known = ids.get(key) ?? ids.set(key, new Map()).get(key);
  const id = known.get(name) ?? known.set(name, `menu-${++count}`).get(name);
  return html`<button type="button" class="menu-button ${kind}" popovertarget=${id} aria-label=${typeof label === "string" || kind.includes("icon") ? name || nothing : nothing}>${label}</button>
    <div class="menu" id=${id} popover @toggle=${place} @click=${close}>
      ${items
        .filter((item) => item && !item.isHidden)
        .map((item) =>
          item.isText
            ? html`<p class="menu-text soft small">${item.words}</p>`
            : item.href
              ? html`<a class="menu-item" href=${item.href}>${item.words}</a>`
              : html`<button type="button" class="menu-item ${item.isDangerous ? "dangerous" : ""}" @click=${item.act}
            aria-pressed=${item.isChecked === undefined ? nothing : String(item.isChecked)}>${item.isChecked ? icon("check") : nothing}${item.words}</button>`,
        )}
    </div>`;
}
