// The OpenAPI document, for the pages that display it.
import { signIn } from "./signin.js";
import { request, token } from "./service.js";

const main = document.getElementById("main");

/** Calls `show(document, element)` once there is a token that the service accepts. */
export async function withDocument(show, why) {
  const again = (reason) => signIn(main, () => withDocument(show), reason);
  if (!token.get()) return again(why);
  let openapi;
  try {
    openapi = await (await request("/openapi.json")).json();
  } catch (error) {
    if (error.status !== 401) return again(error.message);
    token.forget();
    return again("The token is no longer valid. Sign in again.");
  }
  const place = document.createElement("div");
  main.className = "api";
  main.replaceChildren(place);
  return show(openapi, place);
}
