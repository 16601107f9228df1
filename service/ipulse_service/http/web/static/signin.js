// The token, asked for once a tab.
import { complaint, element } from "./element.js";
import { request, token } from "./service.js";

/** `why`: what happened to the token that there was. */
export function signIn(main, done, why) {
  const field = element("input", { type: "password", id: "token", autocomplete: "off", spellcheck: "false", required: true });
  const answer = element("div", {}, why ? complaint(new Error(why)) : "");
  const form = element("form.card.narrow", {
    onsubmit: async (event) => {
      event.preventDefault();
      const text = field.value.trim();
      try {
        if (!/^[!-~]+$/.test(text)) throw new Error("A token has no spaces and only ASCII characters.");
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
  element("p.soft", {}, "The stack of ", element("code", {}, "ipulse up"), " says in which file its token lies; ",
    element("code", {}, "ipulse token create"), " hands out others. It stays in this tab."),
  element("button", { type: "submit" }, "Sign in"), answer);
  main.replaceChildren(form);
  field.focus();
}
