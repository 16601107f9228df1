// Signs in on the pages outside of the frame, with a token and for a session.
import { complaint, element } from "./element.js";
import { api } from "./lib/api.js";

/** `why`: the reason for asking again. */
export function signIn(main, done, why) {
  const field = element("input", {
    type: "password",
    id: "token",
    autocomplete: "current-password",
    spellcheck: "false",
    required: true,
  });
  const answer = element("div", {}, why ? complaint(new Error(why)) : "");
  const form = element(
    "form.card.narrow",
    {
      onsubmit: async (event) => {
        event.preventDefault();
        const text = field.value.trim();
        try {
          if (!/^[!-~]+$/.test(text)) throw new Error("A token contains only ASCII characters and no spaces.");
          await api.post("/v1/sessions", undefined, { headers: { authorization: `Bearer ${text}` }, isTry: true });
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
    element(
      "p.soft",
      {},
      "Paste your access token. ",
      element("code", {}, "ipulse up"),
      " prints the file that contains it; ",
      element("code", {}, "ipulse token create"),
      " makes more.",
    ),
    element("button", { type: "submit" }, "Sign in"),
    answer,
  );
  main.replaceChildren(form);
  field.focus();
}
