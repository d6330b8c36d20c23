// Measures the operator, and a bare loop that makes only the calls that cannot be avoided: `npm run bench`.
// `--part NAME` measures only one promise. Both print their results as tables.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
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
import { reportText } from "./operator/report.ts";
import { runBenchmark } from "./operator/run.ts";
import { openWorld } from "./operator/world.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    part: { type: "string" },
    names: { type: "boolean", default: false },
  },
});

const part = options.part === undefined ? undefined : parts[options.part];
if (options.part !== undefined && part === undefined) {
  throw new Error(`--part: there is no part ${options.part}; there are ${Object.keys(parts).join(", ")}`);
}

const plan = benchPlan(options.only);
const progress = (line: string) => console.error(line);
await using stack = new AsyncDisposableStack();
const folder = await mkdtemp(path.join(tmpdir(), "operator-bench-program-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const { program } = await buildProgram(path.join(folder, "dist"));
const assets = await resolveAssets(apiServerAssets as readonly ["kube-apiserver", "etcd", "kubectl"], { progress });
const apiServer = await startApiServer({ assets });
stack.defer(() => apiServer.stop());
const kubectl = createKubectl({
  binary: assets.kubectl,
  env: { ...process.env, KUBECONFIG: apiServer.kubeconfigFile, KUBECACHEDIR: path.join(folder, "kubectl-cache") },
  cwd: root,
  signal: new AbortController().signal,
});
await kubectl.run(["apply", "--server-side", "-k", "crds"]);
await kubectl.run(["apply", "--server-side", "-k", "deploy/base"]);
await untilEstablished(kubectl);
const { url: server, caFile, token, auditLogFile } = apiServer;
const sandboxProfile = options.names ? "public" : "seed";
const world = await openWorld({ server, caFile, token, auditLogFile }, { program, sandboxProfile });
stack.defer(() => world.close());
if (part === undefined) {
  console.log(reportText(await runBenchmark(world, plan, progress)));
} else {
  console.log(await part({ world, settings: plan.settings ?? {}, say: progress }));
}
