// Asks for the token, once for each tab.
import { complaint, element } from "./element.js";
import { request, token } from "./service.js";

/** `why`: the reason for asking again. */
export function signIn(main, done, why) {
  const field = element("input", { type: "password", id: "token", autocomplete: "off", spellcheck: "false", required: true });
  const answer = element("div", {}, why ? complaint(new Error(why)) : "");
  const form = element("form.card.narrow", {
    onsubmit: async (event) => {
      event.preventDefault();
      const text = field.value.trim();
      try {
        if (!/^[!-~]+$/.test(text)) throw new Error("A token contains only ASCII characters and no spaces.");
        await request("/v1/jobs?page_size=1", { headers: { authorization: `Bearer ${text}` } });
        token.set(text);
        done();
      } catch (error) {
        answer.replaceChildren(complaint(error));
        field.select();
      }
    },
  },
  element("h1", {}, "Sign in"),
  element("label", { for: "token" }, "Token"),
  field,
  element("p.soft", {}, "Paste your access token. ", element("code", {}, "ipulse up"), " prints the file that contains it; ",
    element("code", {}, "ipulse token create"), " makes more. It is kept in this tab only."),
  element("button", { type: "submit" }, "Sign in"), answer);
  main.replaceChildren(form);
  field.focus();
}
