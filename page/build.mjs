// Builds the page: one HTML file with everything in it, into the Python package (or where the first
// argument says). The same sources give the same bytes.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "../retrograd/graph/asset/page.html");
const read = (path) => readFileSync(join(here, path), "utf8");

// What the file is made of: tests/graph/test_page_asset.py computes the same without Node.
const MADE_OF = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json"];

function sourceHash() {
  const sources = readdirSync(join(here, "src")).map((name) => `src/${name}`);
  const hash = createHash("sha256");
  for (const path of [...MADE_OF, ...sources].sort())
    hash.update(path).update("\0").update(read(path)).update("\0");
  return hash.digest("hex");
}

async function bundle(entry) {
  const options = {
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    charset: "utf8",
  };
  const result = await build({
    ...options,
    entryPoints: [join(here, entry)],
    legalComments: "none",
  });
  return result.outputFiles[0].text;
}

async function css() {
  const result = await build({
    entryPoints: [join(here, "src/page.css")],
    bundle: true,
    minify: true,
    write: false,
  });
  return result.outputFiles[0].text;
}

// The same style for a report in somebody else's page, a notebook: it holds inside one element only.
async function reportStyle() {
  const inside = ".retrograd-report";
  const [, light, dark] = read("src/tokens.css").match(
    /:root \{([^}]*)\}\s*:root\.dark \{([^}]*)\}/,
  );
  const sheet = `
    ${inside} { ${light} background: var(--panel); padding: 14px 18px; border-radius: 8px }
    @media (prefers-color-scheme: dark) { ${inside} { ${dark} } }
    [data-jp-theme-light="true"] ${inside} { ${light} }
    [data-jp-theme-light="false"] ${inside} { ${dark} }
    ${inside} { * { box-sizing: border-box } ${read("src/common.css")} ${read("src/report.css")} }`;
  const options = { loader: "css", minify: true, target: ["chrome100", "firefox100", "safari15"] };
  return (await transform(sheet, options)).code.trim();
}

const script = await bundle("src/main.ts");
const license = read("node_modules/@dagrejs/dagre/LICENSE").trim();
const page = read("src/page.html")
  .replace("/*SOURCE*/", sourceHash())
  .replace("/*LICENSE*/", () => `The layout is by dagre:\n${license}\n`)
  .replace("/*CSS*/", await css())
  .replace("/*JS*/", () => script.replaceAll("</script", "<\\/script"));
mkdirSync(dirname(target), { recursive: true });
writeFileSync(target, page);
const style = `<!-- source: ${sourceHash()} --><style>${await reportStyle()}</style>\n`;
writeFileSync(join(dirname(target), "report.html"), style);
console.log(`${target}: ${page.length} characters`);
