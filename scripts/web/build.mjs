// Bundles the packages of the page into ES modules; the same lock gives the same bytes.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const HERE = import.meta.dirname;
const [, , TARGET, AXE] = process.argv;
const BUNDLES = ["lit", "uplot", "echarts", "editor", "virtual"];
const LICENSES = /^(licen[cs]e|notice)(\.(md|txt))?$/i;

/** The packages whose files are in a bundle. */
function packagesOf(metafile) {
  const names = new Set();
  for (const [path, { bytesInOutput }] of Object.entries(Object.values(metafile.outputs)[0].inputs)) {
    const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
    if (name && bytesInOutput) names.add(name);
  }
  return [...names].sort();
}

function manifest(name) {
  return JSON.parse(readFileSync(join(HERE, "node_modules", name, "package.json")));
}

function licenseText(name) {
  const folder = join(HERE, "node_modules", name);
  const files = readdirSync(folder)
    .filter((file) => LICENSES.test(file))
    .sort();
  return files.map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim()).join("\n\n");
}

const sha256 = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");

process.chdir(HERE);
const folder = join(TARGET, "bundles");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const entries = [];
for (const bundle of BUNDLES) {
  const outfile = join(folder, `${bundle}.js`);
  const { metafile } = await build({
    entryPoints: [join(HERE, "entries", `${bundle}.js`)],
    outfile,
    bundle: true,
    minify: true,
    absWorkingDir: HERE,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const packages = packagesOf(metafile);
  const notice = packages
    .map((name) => {
      const { version, license } = manifest(name);
      return `${name} ${version} (${license})\n\n${licenseText(name)}`;
    })
    .join(`\n\n${"-".repeat(60)}\n\n`);
  writeFileSync(join(folder, `${bundle}.LICENSE.txt`), `${notice}\n`);
  entries.push({
    bundle,
    packages: packages.map((name) => `${name} ${manifest(name).version} ${manifest(name).license}`),
  });
}
copyFileSync(join(HERE, "node_modules/uplot/dist/uPlot.min.css"), join(folder, "uplot.css"));
for (const entry of entries) {
  const own = readdirSync(folder)
    .filter((file) => file.split(".")[0] === entry.bundle)
    .sort();
  entry.files = Object.fromEntries(own.map((file) => [file, sha256(join(folder, file))]));
}
if (AXE) copyFileSync(join(HERE, "node_modules/axe-core/axe.min.js"), AXE); // for tests only
writeFileSync(join(folder, "bundles.json"), `${JSON.stringify(entries, null, 2)}\n`);
