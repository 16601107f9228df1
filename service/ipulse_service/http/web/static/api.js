// The OpenAPI document, for the pages that display it.
import { api } from "./lib/api.js";
import { signIn } from "./signin.js";

const main = document.getElementById("main");

/** Calls `show(document, element)` once there is a session. */
export async function withDocument(show) {
  let openapi;
  try {
    openapi = await api.get("/openapi.json");
  } catch (error) {
    return signIn(main, () => withDocument(show), error.status === 401 ? "" : error.message);
  }
  const place = document.createElement("div");
  main.className = "api";
  main.replaceChildren(place);
  return show(openapi, place);
}
