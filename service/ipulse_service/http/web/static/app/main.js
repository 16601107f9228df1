// Starts the page: the elements of the frame, then the session, then the view that the address names.
import "./shell.js";
import "./login.js";
import { redirectOldLinks, start } from "./router.js";

redirectOldLinks();
start();
