// The OpenAPI document, for the pages that display it.
import { signIn } from "./signin.js";
import { request } from "./service.js";

const main = document.getElementById("main");

/** Calls `show(document, element)` once there is a session. */
export async function withDocument(show, why) {
  const again = (reason) => signIn(main, () => withDocument(show), reason);
  if (why) return again(why);
  let openapi;
  try {
    openapi = await (await request("/openapi.json")).json();
  } catch (error) {
    return again(error.status === 401 ? "" : error.message);
  }
  const place = document.createElement("div");
  main.className = "api";
  main.replaceChildren(place);
  return show(openapi, place);
}
