// JSON of the service for people: names of others must not reorder or hide the text around them.

// As DECEPTIVE in ipulse_core/limits.py.
const DECEPTIVE = /[\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
// The same as escapes, which an even number of backslashes may precede.
const ESCAPED = /(?<!\\)((?:\\\\)*)\\(u(?:061c|180e|200[bef]|202[89a-e]|206[0-9a-f]|feff))/gi;

/** Parses JSON; characters that deceive are visible as escapes, such as \u202e. @param {string} text */
export function parseShown(text) {
  const visible = (text.includes("\\") ? text.replaceAll(ESCAPED, "$1\\\\$2") : text) // most have none
    .replaceAll(DECEPTIVE, (c) => `\\\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return JSON.parse(visible);
}

/** @param {Response} response */
export const shownJSON = async (response) => parseShown(await response.text());
