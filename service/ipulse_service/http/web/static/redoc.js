// ReDoc: the HTTP API on one page, to read.
import { withDocument } from "./api.js";

// ReDoc names a logo on another host. The page's policy would refuse it with an error in the console.
const { get, set } = Object.getOwnPropertyDescriptor(HTMLImageElement.prototype, "src");
Object.defineProperty(HTMLImageElement.prototype, "src", {
  get,
  set(url) {
    if (isOurs(url)) set.call(this, url);
  },
});
HTMLImageElement.prototype.setAttribute = function (name, value) {
  if (name !== "src" || isOurs(value)) Element.prototype.setAttribute.call(this, name, value);
};

function isOurs(url) {
  return !/^https?:/.test(url) || new URL(url).origin === location.origin;
}

/* global Redoc */ // of its own script
withDocument((openapi, place) => Redoc.init(openapi, { disableSearch: true, nativeScrollbars: true }, place));
