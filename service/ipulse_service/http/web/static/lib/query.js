// The written form of texts in the search language; the service's `quoted` writes the same.

/** @param {string} text */
export const quoted = (text) => (/^(?!(?:null|OR|AND)$)[A-Za-z0-9][A-Za-z0-9_./@+-]*$/.test(text) ? text : `"${text.replace(/["\\]/g, "\\$&")}"`);
