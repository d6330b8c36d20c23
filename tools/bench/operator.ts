// Measures the operator, and a bare loop that makes only the calls that cannot be avoided: `npm run bench`.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startApiServer } from "../api-server/api-server.ts";
import { untilEstablished } from "../api-server/established.ts";
import { resolveAssets } from "../assets/resolve-assets.ts";
import { buildProgram } from "../build.ts";
import { runTool, UsageError } from "../process/command-line.ts";
import { createKubectl } from "../process/kubectl.ts";
import { type BenchPlan, measureSize } from "./operator/measure-size.ts";
import { parts } from "./operator/parts.ts";
import { reportText } from "./operator/report.ts";
import { openWorld } from "./operator/world.ts";

const usage = `Usage: npm run bench -- [--only 100/10 | --only 1000/100 | --part NAME] [--names]

Measures the operator against a bare loop, and prints tables. It runs on Linux.
  --only RESOURCES/PROJECTS   one size alone
  --part NAME                 one promise alone: ${Object.keys(parts).join(", ")}
  --names                     the control plane shows the names of endpoints`;

const sizes: readonly (readonly [resources: number, projects: number])[] = [
  [100, 10],
  [1_000, 100],
];

/** The floor has no request budget, so the operator gets one without effect: the comparison is about their own work. */
const settings = { CONTROL_PLANE_REQUESTS_PER_MINUTE: "1000000", CONTROL_PLANE_REQUESTS_PER_SECOND: "100000" };

function plansFor(only: string | undefined): readonly BenchPlan[] {
  const chosen = sizes.filter(([resources, projects]) => only === undefined || only === `${resources}/${projects}`);
  if (chosen.length === 0) throw new UsageError(`there is no size ${only}`);
  const common = { rounds: 4, edits: 300, restSeconds: 40, settings };
  return chosen.map(([resources, projects]) => ({ resources, projects, ...common }));
}

async function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { only: { type: "string" }, part: { type: "string" }, names: { type: "boolean", default: false } },
  });
  const plans = plansFor(values.only);
  const part = values.part === undefined ? undefined : parts[values.part];
  if (values.part !== undefined && part === undefined) throw new UsageError(`there is no part ${values.part}`);
  const say = (line: string) => console.error(line);
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), "operator-bench-program-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const { program } = await buildProgram(path.join(folder, "dist"));
  const assets = await resolveAssets(["etcd", "kube-apiserver", "kubectl"], { progress: say, signal });
  const apiServer = await startApiServer({ assets });
  stack.defer(() => apiServer.stop());
  const cwd = fileURLToPath(new URL("../../", import.meta.url));
  const { kubeconfigFile, url: server } = apiServer;
  const kubectl = createKubectl({ binary: assets.kubectl, kubeconfigFile, cacheFolder: folder, cwd, signal });
  await kubectl.run(["apply", "--server-side", "-k", "crds"]);
  await kubectl.run(["apply", "--server-side", "-k", "deploy/base"]);
  await untilEstablished(kubectl);
  const sandboxProfile = values.names ? "public" : "seed";
  const world = await openWorld({ ...apiServer, server, kubectl }, { program, sandboxProfile });
  stack.defer(() => world.close());
  if (part !== undefined) console.log(await part({ world, settings, say }));
  else for (const plan of plans) console.log(`${reportText(await measureSize(world, plan, say))}\n`);
  return 0;
}

await runTool({ usage, main });
