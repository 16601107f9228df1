// The written form of texts in the search language; the service's `quoted` writes the same.

/** @param {string} text */
export const quoted = (text) =>
  /^(?!(?:null|OR|AND)$)[A-Za-z0-9][A-Za-z0-9_./@+-]*$/.test(text) ? text : `"${text.replace(/["\\]/g, "\\$&")}"`;

const ITEM = /(?:"(?:[^"\\]|\\.)*"|[^,])+/gs; // a name, in which commas may be quoted

/**
 * The names of a list with commas, as the service reads it.
 * @param {string | null | undefined} text
 * @returns {string[]}
 */
export const names = (text) => (text?.match(ITEM) ?? []).map((item) => item.trim()).filter(Boolean);
