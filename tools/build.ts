/** Bundles the program into one folder: `npm run build`. */
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Metafile, type OutputFile, type Plugin } from "esbuild";
import packageJson from "../package.json" with { type: "json" };
import { libraryFile, readPageFiles } from "../src/sandbox/page/page-files.ts";

/** A finished bundle. */
export interface Bundle {
  /** The absolute path of the file to run. */
  readonly program: string;
  readonly version: string;
  readonly bytes: number;
  /** The licence of each bundled package, by `name@version`. */
  readonly licences: ReadonlyMap<string, string>;
}

interface PackageJson {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
}

interface BundledPackage {
  /** The id of the package, `name@version`. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** The text of the licence file; empty if the package has none. */
  readonly text: string;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const programName = "endpoint-operator";
const { version } = packageJson;

/** Puts the texts of the sandbox's page into the bundle. */
const pagePlugin: Plugin = {
  name: "page",
  setup: ({ onLoad }) => {
    const files = JSON.stringify(readPageFiles());
    // The import makes the library part of the list of packages.
    const contents = `import ${JSON.stringify(libraryFile)};\nexport const readPageFiles = () => (${files});`;
    onLoad({ filter: /[\\/]page-files\.ts$/ }, () => ({ contents }));
  },
};

/**
 * Of the Kubernetes client library only the reader of kubeconfigs is used. This leaves the classes of all kinds out. Else
 * esbuild would bundle them, because their package does not say that they have no effects, and Node would load them: 10 MiB.
 */
export const clientLibraryPlugin: Plugin = {
  name: "client-library",
  setup: ({ onResolve, onLoad, resolve }) => {
    const reader = "@kubernetes/client-node/dist/config.js";
    const contents = 'export * from "./configuration.js";\nexport * from "./servers.js";';
    onResolve({ filter: /^@kubernetes\/client-node$/ }, ({ kind, resolveDir }) =>
      resolve(reader, { kind, resolveDir }),
    );
    onLoad({ filter: /[\\/]client-node[\\/]dist[\\/]gen[\\/]index\.js$/ }, () => ({ contents }));
  },
};

/** Some dependencies are CommonJS, and expect the variables that Node gives to CommonJS modules. */
const commonJsBanner = [
  'import { createRequire as bundleCreateRequire } from "node:module";',
  'import { dirname as bundleDirname } from "node:path";',
  'import { fileURLToPath as bundleFileUrlToPath } from "node:url";',
  "const require = bundleCreateRequire(import.meta.url);",
  "const __filename = bundleFileUrlToPath(import.meta.url);",
  "const __dirname = bundleDirname(__filename);",
].join("\n");

/**
 * Bundles the program with all its dependencies into one folder that runs without node_modules. Its former content is lost.
 * Modules that are imported dynamically become files of their own, which are loaded only when needed. The same sources
 * give the same bytes. Nothing is written unless everything can be bundled.
 * @throws BuildFailure of esbuild; Error when the classes of the client library would be bundled
 */
export async function buildProgram(outDir: string): Promise<Bundle> {
  const result = await build({
    absWorkingDir: root,
    entryPoints: { [programName]: join(root, "src/main.ts") },
    outdir: outDir,
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    banner: { js: commonJsBanner },
    define: { ENDPOINT_OPERATOR_VERSION: JSON.stringify(version) },
    legalComments: "none",
    plugins: [pagePlugin, clientLibraryPlugin],
    metafile: true,
    write: false,
    logLevel: "warning",
  });
  if (Object.keys(result.metafile.inputs).some((file) => file.includes("client-node/dist/gen/models/")))
    throw new Error("the client library has moved its index: mend the plugin client-library");
  const packages = await bundledPackages(result.metafile);
  const program = join(outDir, `${programName}.js`);
  await rm(outDir, { recursive: true, force: true });
  await writeOutputs(result.outputFiles, program);
  await writePlugin(outDir);
  // The folder has no other package.json. This file tells Node that the files are modules.
  await writeFile(join(outDir, "package.json"), `${JSON.stringify({ type: "module", version }, null, 2)}\n`);
  const specification = await describePackage(join(root, specificationPackage));
  await writeFile(join(outDir, "THIRD-PARTY-NOTICES.txt"), noticesOf([...packages, specification]));
  // The SBOM of the image is made from this list.
  const list = packages.map(({ name, version, licence }) => ({ name, version, licence }));
  await writeFile(join(outDir, "packages.json"), `${JSON.stringify(list, null, 2)}\n`);
  return {
    program,
    version,
    bytes: result.outputFiles.reduce((sum, file) => sum + file.contents.length, 0),
    licences: new Map(packages.map(({ id, licence }) => [id, licence])),
  };
}

async function writeOutputs(outputs: readonly OutputFile[], program: string): Promise<void> {
  for (const { path, text } of outputs) {
    await mkdir(dirname(path), { recursive: true });
    const needsShebang = path === program && !text.startsWith("#!");
    await writeFile(path, needsShebang ? `#!/usr/bin/env node\n${text}` : text);
  }
  await chmod(program, 0o755);
}

/**
 * kubectl finds a plugin by its file name: `kubectl endpoints` runs the program `kubectl-endpoints`. A shell runs the lines
 * that begin with a colon, and then Node. To Node they are texts with comments.
 */
async function writePlugin(outDir: string): Promise<void> {
  const file = join(outDir, "kubectl-endpoints.js");
  const needed = "kubectl endpoints needs Node 22.19 or later on PATH.";
  const lines = [
    "#!/bin/sh",
    `":" //; command -v node >/dev/null || { echo "${needed}" >&2; exit 1; }`,
    '":" //; exec node "$0" "$@"',
    'process.argv.splice(2, 0, "endpoints");',
    `await import("./${programName}.js");`,
  ];
  await writeFile(file, `${lines.join("\n")}\n`);
  await chmod(file, 0o755);
  // kubectl finds the program that completes its command line by this name.
  await copyFile(join(root, "src/plugin/kubectl_complete-endpoints"), join(outDir, "kubectl_complete-endpoints"));
}

/** The package from which `src/sandbox/http/specification/public-api.json` is made. Its licence asks for a notice. */
const specificationPackage = "node_modules/@neondatabase/api-client";

/** Returns the packages whose code is in the outputs, ordered by name. */
async function bundledPackages({ inputs, outputs }: Metafile): Promise<readonly BundledPackage[]> {
  const used = new Set(Object.values(outputs).flatMap((output) => Object.keys(output.inputs)));
  const folders = Object.keys(inputs)
    .filter((path) => used.has(path))
    .flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  const packages = await Promise.all([...new Set(folders)].map((folder) => describePackage(join(root, folder))));
  const byId = new Map(packages.map((item) => [item.id, item]));
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

async function describePackage(folder: string): Promise<BundledPackage> {
  const {
    name = "",
    version = "",
    license,
  } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as PackageJson;
  const file = (await readdir(folder)).sort().find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  const text = file === undefined ? "" : (await readFile(join(folder, file), "utf8")).trim();
  return { id: `${name}@${version}`, name, version, licence: license ?? "see text", text };
}

function noticesOf(packages: readonly BundledPackage[]): string {
  const parts = packages.map(({ id, licence, text }) => `${id} (${licence})\n\n${text}\n`);
  return [`This program contains the following packages.\n`, ...parts].join(`\n${"-".repeat(80)}\n\n`);
}

async function main(): Promise<void> {
  const bundle = await buildProgram(join(root, "dist"));
  const megabytes = (bundle.bytes / 1_000_000).toFixed(1);
  console.log(
    `${relative(root, bundle.program)} ${bundle.version}, ${megabytes} MB, ${bundle.licences.size} packages inside`,
  );
}

if (import.meta.main) {
  await main();
}
