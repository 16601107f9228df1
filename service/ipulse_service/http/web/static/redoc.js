// ReDoc: the HTTP API on one page, to read.
import { withDocument } from "./api.js";

withDocument((openapi, place) => Redoc.init(openapi, { disableSearch: true, nativeScrollbars: true }, place));
