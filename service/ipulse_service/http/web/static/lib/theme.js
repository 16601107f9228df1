// The theme of the page: of the system, or chosen in this browser.

const CHOSEN = "theme-chosen";
const dark = matchMedia("(prefers-color-scheme: dark)");

/** Tells all pictures that the person has chosen another theme. */
export const themeChosen = () => dispatchEvent(new Event(CHOSEN));

/** Calls `draw` when the colours have changed. @param {() => void} draw @returns {() => void} ends it */
export function onTheme(draw) {
  dark.addEventListener("change", draw);
  addEventListener(CHOSEN, draw);
  return () => {
    dark.removeEventListener("change", draw);
    removeEventListener(CHOSEN, draw);
  };
}
