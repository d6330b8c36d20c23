/** Tests which rooms may import each other. */
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

/** What the files of one folder of src may import. */
interface Rules {
  /** Folders of src in addition to their own. */
  readonly folders: readonly string[];
  readonly packages: readonly string[];
  /** Only modules that compute. Not allowed are time, randomness, files and network. */
  readonly isPure: boolean;
}

/**
 * The direction of dependencies. If a folder or file is not listed here, the test fails: add its rules first.
 * @see docs/code.md
 */
const rules: Readonly<Record<string, Rules>> = {
  "main.ts": {
    folders: ["config.ts", "plugin", "sandbox", "wiring"],
    packages: ["commander"],
    isPure: false,
  },
  // This folder makes the parts of the operator, starts and stops them. No other folder makes parts for another one.
  wiring: {
    folders: [
      ...[
        "config.ts",
        "control-plane",
        "domain",
        "engine",
        "kinds/access",
        "kinds/branch",
        "kinds/endpoint",
        "kubernetes",
      ],
      ...["operations", "planes", "resource", "runtime", "telemetry", "tracing"],
    ],
    packages: [],
    isPure: false,
  },
  planes: { folders: ["control-plane", "engine", "resource", "domain"], packages: [], isPure: true },
  "config.ts": { folders: [], packages: ["zod"], isPure: true },
  domain: { folders: [], packages: [], isPure: true },
  // croner only computes the times of windows and schedules.
  resource: { folders: ["domain"], packages: ["croner", "zod"], isPure: true },
  operations: { folders: ["resource", "domain"], packages: [], isPure: true },
  // The engine knows no kind, and a kind knows no other one.
  engine: { folders: ["operations", "resource", "domain"], packages: [], isPure: true },
  "kinds/endpoint": { folders: ["engine", "operations", "resource", "domain"], packages: [], isPure: true },
  "kinds/access": { folders: ["engine", "operations", "resource", "domain"], packages: [], isPure: true },
  "kinds/branch": { folders: ["engine", "operations", "resource", "domain"], packages: [], isPure: true },
  "control-plane": { folders: ["http", "runtime", "resource", "domain"], packages: ["zod"], isPure: false },
  http: { folders: ["domain"], packages: ["undici"], isPure: false },
  kubernetes: {
    folders: ["http", "runtime", "resource", "domain"],
    packages: ["@kubernetes/client-node"],
    isPure: false,
  },
  runtime: { folders: ["domain"], packages: [], isPure: false },
  telemetry: { folders: ["resource", "domain"], packages: ["pino", "prom-client"], isPure: false },
  tracing: {
    folders: ["domain"],
    packages: [
      "@opentelemetry/api",
      "@opentelemetry/exporter-trace-otlp-proto",
      "@opentelemetry/resources",
      "@opentelemetry/sdk-trace",
    ],
    isPure: false,
  },
  // This folder reads what the operator reads, and calls the operator's own decisions.
  plugin: {
    folders: [
      ...["config.ts", "control-plane", "domain", "engine", "kinds/branch", "kinds/endpoint", "kubernetes"],
      ...["operations", "planes", "resource", "runtime"],
    ],
    packages: ["commander", "yaml"],
    isPure: false,
  },
  sandbox: {
    folders: [],
    packages: ["commander", "diff", "fastify", "fastify-type-provider-zod", "zod"],
    isPure: false,
  },
};

/** Hashing only computes. Every other module of Node reaches outside. */
const pureBuiltins = ["node:crypto"];

/** Finds imports in the text: `import … from`, `export … from`, bare imports, and `import(…)`. */
function importsOf(source: string): readonly string[] {
  const code = withoutComments(source);
  const statements = code.matchAll(/^[ \t]*(?:import|export)\b[^"';]*?\bfrom\s*["']([^"']+)["']/gm);
  const bare = code.matchAll(/^[ \t]*import\s*["']([^"']+)["']/gm);
  const dynamic = code.matchAll(/\bimport\s*\(\s*(?:["'`]([^"'`$]+)["'`])?/g);
  return [
    ...[...statements, ...bare].map(([, specifier = ""]) => specifier),
    ...[...dynamic].map(([, specifier = "(computed)"]) => specifier),
  ];
}

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1");
}

/** `domain/endpoint.ts` → `domain`; `kinds/access/deletion.ts` → `kinds/access`; `main.ts` → `main.ts`. */
function partOf(path: string): string {
  const [room = "", kind = ""] = path.split("/");
  return room === "kinds" ? `${room}/${kind}` : room;
}

/**
 * Returns every broken rule, one in each line. Pure.
 * @param files the source by path relative to src
 */
function violationsOf(files: ReadonlyMap<string, string>): readonly string[] {
  return [...files].flatMap(([path, source]) => {
    const own = rules[partOf(path)];
    if (own === undefined) {
      return [`${path}: no rules for ${partOf(path)}`];
    }
    const imports = importsOf(source).flatMap((item) => importProblem(path, item, own) ?? []);
    return [...imports, ...codeProblems(path, source, own)].map((problem) => `${path}: ${problem}`);
  });
}

function importProblem(path: string, specifier: string, own: Rules): string | undefined {
  if (specifier.startsWith(".")) {
    const target = join(dirname(path), specifier);
    if (target.startsWith("..")) return `${specifier} leaves src`;
    const part = partOf(target);
    return part === partOf(path) || own.folders.includes(part) ? undefined : `imports ${part}`;
  }
  if (specifier.startsWith("node:")) {
    const isAllowed = !own.isPure || pureBuiltins.includes(specifier);
    return isAllowed ? undefined : `${specifier} in a part that only computes`;
  }
  return own.packages.includes(packageOf(specifier)) ? undefined : `package ${specifier}`;
}

function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function codeProblems(path: string, source: string, own: Rules): readonly string[] {
  const code = withoutComments(source);
  const isMain = path === "main.ts";
  const forbidden: readonly (readonly [isForbidden: boolean, pattern: RegExp, problem: string])[] = [
    [!isMain, /\bprocess\s*(\?\.|\.|\[")\s*env\b/, "reads process.env"],
    [!isMain, /\{[^}]*\benv\b[^}]*\}\s*=\s*process\b/, "reads process.env"],
    [!isMain, /\bprocess\s*(\?\.|\.)\s*(exit|exitCode|abort|kill)\b/, "ends the process"],
    [true, /\bconsole\s*\.\s*\w+\s*\(/, "writes to the console"],
    [true, /^\s*export\s+default\b/m, "has a default export"],
    [own.isPure, /\bDate\.now\s*\(|\bnew Date\(\s*\)|\bperformance\./, "reads a clock"],
    [own.isPure, /\bset(Timeout|Interval|Immediate)\s*\(/, "sets a timer"],
    [own.isPure, /\bMath\.random\b|\brandom(UUID|Bytes|Int)\b/, "draws at random"],
    [own.isPure, /\bfetch\s*\(/, "calls out"],
  ];
  return forbidden.flatMap(([isForbidden, pattern, problem]) => (isForbidden && pattern.test(code) ? [problem] : []));
}

async function readSources(folder = "src"): Promise<ReadonlyMap<string, string>> {
  const root = fileURLToPath(new URL(`../../${folder}`, import.meta.url));
  const entries = await readdir(root, { recursive: true });
  const paths = entries.filter((entry) => entry.endsWith(".ts"));
  return new Map(
    await Promise.all(paths.map(async (path) => [path, await readFile(join(root, path), "utf8")] as const)),
  );
}

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Returns which file imports which, including imports of types. */
function fileGraph(files: ReadonlyMap<string, string>): Graph {
  const targetsOf = (path: string, source: string) =>
    importsOf(source)
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => join(dirname(path), specifier));
  return new Map([...files].map(([path, source]) => [path, new Set(targetsOf(path, source))]));
}

/**
 * Returns which folder imports which. A file directly in src is an entry point, and counts as its own folder.
 * @param depth deeper folders belong to the one above them. @default no limit
 */
function folderGraph(graph: Graph, depth?: number): Graph {
  const folderOf = (path: string) =>
    dirname(path) === "." ? path : dirname(path).split("/").slice(0, depth).join("/");
  const folders = new Map<string, Set<string>>();
  for (const [path, targets] of graph) {
    const own = folders.get(folderOf(path)) ?? new Set();
    folders.set(folderOf(path), own);
    for (const target of targets) {
      own.add(folderOf(target));
    }
    own.delete(folderOf(path));
  }
  return folders;
}

/** Returns every set of nodes that reach each other, sorted. Pure. */
function cyclesOf(graph: Graph): readonly (readonly string[])[] {
  const reachable = new Map([...graph.keys()].map((node) => [node, reachableFrom(node, graph)]));
  const isMutual = (a: string, b: string) => reachable.get(a)?.has(b) === true && reachable.get(b)?.has(a) === true;
  const nodes = [...graph.keys()].filter((node) => isMutual(node, node)).sort();
  const cycles = nodes.map((node) => nodes.filter((other) => isMutual(node, other)));
  return cycles.filter(([first], index) => first === nodes[index]);
}

function reachableFrom(start: string, graph: Graph): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [...(graph.get(start) ?? [])];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (!found.has(node)) {
      found.add(node);
      open.push(...(graph.get(node) ?? []));
    }
  }
  return found;
}

describe("architecture", () => {
  test("every file of src → keeps the direction of dependencies", async () => {
    const files = await readSources();
    expect(files.size).toBeGreaterThan(50);
    expect(violationsOf(files)).toEqual([]);
  });
});

describe.each(["src", "tools"])("the files of %s", (folder) => {
  test("imports of files → no file reaches itself", async () => {
    const graph = fileGraph(await readSources(folder));
    expect([...graph.values()].some((targets) => targets.size > 5)).toBe(true);
    expect(cyclesOf(graph)).toEqual([]);
  });

  test.each([undefined, 2])("imports between folders, up to depth %s → no folder reaches itself", async (depth) => {
    expect(cyclesOf(folderGraph(fileGraph(await readSources(folder)), depth))).toEqual([]);
  });
});

test("the control plane of the settings → only src/planes and the form of the ids know which one it is", async () => {
  const files = [...(await readSources())].filter(([, source]) => /\bsettingsPlane\b/.test(withoutComments(source)));
  const others = files.map(([path]) => path).filter((path) => partOf(path) !== "planes");
  expect(others.sort()).toEqual(["resource/control-plane-resource.ts"]);
});

test.each(["src", "tools", "test"])(
  "%s → no object spreads a literal, which only puts members in one line",
  async (folder) => {
    const files = [...(await readSources(folder))].filter(([, source]) => source.includes(`...${"{"}`));
    expect(files.map(([path]) => path)).toEqual([]);
  },
);

/** Lines of TypeScript. A total may fall, and its limit with it. Issues 12 and 13 add 900 each to the operator. */
test.each([
  ["src", 19_769, (path: string) => !path.startsWith("sandbox/")],
  ["src", 13_429, (path: string) => path.startsWith("sandbox/")],
  ["tools", 10_227, () => true],
  ["test", 41_907, () => true],
])("%s → at most %d lines", async (folder, limit, isCounted) => {
  const files = [...(await readSources(folder))].filter(([path]) => isCounted(path));
  const lines = files.reduce((sum, [, source]) => sum + source.split("\n").length - 1, 0);
  expect(lines).toBeGreaterThan(1_000);
  expect(lines).toBeLessThanOrEqual(limit);
});

describe("the checker itself", () => {
  test("three files in a circle, types included → one cycle of files, and of their folders", () => {
    const files = new Map([
      ["a/x.ts", 'import type { Y } from "../b/y.ts";'],
      ["b/y.ts", 'export { z } from "./z.ts";'],
      ["b/z.ts", 'const x = await import("../a/x.ts");'],
      ["main.ts", 'import "./a/x.ts";'],
      ["b/alone.ts", 'import { y } from "./y.ts";'],
    ]);
    expect(cyclesOf(fileGraph(files))).toEqual([["a/x.ts", "b/y.ts", "b/z.ts"]]);
    expect(cyclesOf(folderGraph(fileGraph(files)))).toEqual([["a", "b"]]);
  });

  test.each([
    ["domain/a.ts", 'import { z } from "zod";', "package zod"],
    ["domain/a.ts", 'export * from "../engine/x.ts";', "imports engine"],
    ["resource/a.ts", 'import {\n  x,\n  y,\n} from "../engine/x.ts";', "imports engine"],
    ["engine/a.ts", 'import "../kubernetes/x.ts";', "imports kubernetes"],
    ["engine/a.ts", 'import { readFile } from "node:fs/promises";', "node:fs/promises in a part that only computes"],
    ["engine/a.ts", "const t = Date.now();", "reads a clock"],
    ["engine/a.ts", "setTimeout(run, 5);", "sets a timer"],
    ["engine/a.ts", "const r = Math.random();", "draws at random"],
    ["kinds/endpoint/a.ts", 'import { r } from "../access/r.ts";', "imports kinds/access"],
    ["kubernetes/a.ts", "const m = await import(name);", "package (computed)"],
    ["telemetry/a.ts", "const url = process.env.URL;", "reads process.env"],
    ["telemetry/a.ts", "const { env } = process;", "reads process.env"],
    ["telemetry/a.ts", "process.exit(1);", "ends the process"],
    ["sandbox/http/a.ts", 'import type { E } from "../../domain/e.ts";', "imports domain"],
    ["main.ts", 'import { x } from "../test/x.ts";', "../test/x.ts leaves src"],
    ["main.ts", 'console.log("x");', "writes to the console"],
    ["domain/a.ts", "export default 1;", "has a default export"],
    ["extras/a.ts", "", "no rules for extras"],
  ])("%s with %s → %s", (path, source, problem) => {
    const found = violationsOf(new Map([[path, source]]));
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`${path}: ${problem}`);
  });

  test.each([
    ["engine/a.ts", 'import type { Clock } from "../domain/clock.ts";'],
    ["engine/deep/a.ts", 'import { x } from "../b.ts";\nimport { y } from "../../domain/y.ts";'],
    ["engine/a.ts", 'import { createHash } from "node:crypto";\nconst t = new Date(nowMs).toISOString();'],
    [
      "engine/a.ts",
      '/** Never reads process.env; see import "../sandbox/x.ts". */\n// import { z } from "zod";\nconst a = 1;',
    ],
    ["main.ts", 'const { s } = await import("./sandbox/s.ts");\nprocess.exitCode = process.env.X ? 1 : 0;'],
  ])("%s with %s → nothing", (path, source) => {
    expect(violationsOf(new Map([[path, source]]))).toEqual([]);
  });
});
