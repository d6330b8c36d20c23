// Measures the operator, and a bare loop that makes only the calls that cannot be avoided: `npm run bench`.
// Prints a table and writes a JSON file. `--part NAME` measures only one promise, and prints the result.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startApiServer } from "../api-server/api-server.ts";
import { untilEstablished } from "../api-server/established.ts";
import { apiServerAssets } from "../assets/asset-table.ts";
import { resolveAssets } from "../assets/resolve-assets.ts";
import { buildProgram } from "../build.ts";
import { createKubectl } from "../demo/scene/kubectl.ts";
import { parts } from "./operator/parts.ts";
import { benchPlan } from "./operator/plan.ts";
import { reportText, targetsOf } from "./operator/report.ts";
import { runBenchmark } from "./operator/run.ts";
import { openWorld } from "./operator/world.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    out: { type: "string", default: path.join(root, "docs/benchmarks.json") },
    only: { type: "string" },
    profile: { type: "string" },
    part: { type: "string" },
    heap: { type: "boolean", default: false },
    names: { type: "boolean", default: false },
  },
});

const part = options.part === undefined ? undefined : parts[options.part];
if (options.part !== undefined && part === undefined) {
  throw new Error(`--part: there is no part ${options.part}; there are ${Object.keys(parts).join(", ")}`);
}

const plan = benchPlan({
  isQuick: options.quick,
  isHeapOnly: options.heap,
  only: options.only,
  profileFolder: options.profile,
});
const progress = (line: string) => console.error(line);
await using stack = new AsyncDisposableStack();
const folder = await mkdtemp(path.join(tmpdir(), "operator-bench-program-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const { program, version } = await buildProgram(path.join(folder, "dist"));
const assets = await resolveAssets(apiServerAssets as readonly ["kube-apiserver", "etcd", "kubectl"], { progress });
const apiServer = await startApiServer({ assets });
stack.defer(() => apiServer.stop());
const kubectl = createKubectl({
  binary: assets.kubectl,
  env: { ...process.env, KUBECONFIG: apiServer.kubeconfigFile, KUBECACHEDIR: path.join(folder, "kubectl-cache") },
  cwd: root,
  signal: new AbortController().signal,
});
await kubectl.run(["apply", "--server-side", "-k", "deploy/base"]);
await untilEstablished(kubectl);
const { url: server, caFile, token, auditLogFile } = apiServer;
const sandboxProfile = options.names ? "public" : "seed";
const world = await openWorld({ server, caFile, token, auditLogFile }, { program, sandboxProfile });
stack.defer(() => world.close());
if (part === undefined) {
  const result = await runBenchmark(world, plan, progress);
  console.log(reportText(result));
  const machine = { node: process.version, processors: cpus().length, model: cpus()[0]?.model };
  const written = { date: new Date().toISOString(), version, machine, targets: targetsOf(result), ...result };
  await writeFile(options.out, `${JSON.stringify(written, undefined, 2)}\n`);
  console.error(`written to ${options.out}`);
} else {
  console.log(await part({ world, settings: plan.settings ?? {}, say: progress }));
}
