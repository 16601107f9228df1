// Whether the window is as narrow as a phone: 640 pixels, as in the style sheets.

const query = matchMedia("(max-width: 640px)");

export const isNarrow = () => query.matches;

/** Calls `listener` when that changes; returns how to end it. @param {() => void} listener */
export function onNarrow(listener) {
  query.addEventListener("change", listener);
  return () => query.removeEventListener("change", listener);
}
