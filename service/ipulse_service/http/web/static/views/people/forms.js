// Forms in dialogs that send one request.

/**
 * Returns what sends a form: it closes the dialog with the answer, or shows the error in the form.
 * @param {(fields: any) => Promise<any>} request
 */
export const inForm = (request) => async (event, close) => {
  event.preventDefault();
  try {
    close((await request(event.target.elements)) ?? true);
  } catch (error) {
    event.target.querySelector("[role=alert]").textContent = [
      error.message,
      ...(error.errors ?? []).map((one) => one.detail),
    ].join(" ");
  }
};
