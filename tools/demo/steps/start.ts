/** The first step: starts everything. */
import { writeFile } from "node:fs/promises";
import { untilEstablished } from "../../api-server/established.ts";
import type { Computes } from "../scene/computes.ts";
import { secondsSince } from "../scene/names.ts";
import { Shell, shellWords } from "../scene/shell.ts";
import { keyVariable, Story } from "../scene/story.ts";
import type { Terminal } from "../scene/terminal.ts";
import type { DemoWorld, SandboxAddress } from "../scene/world.ts";

/** The operations are slow enough to be seen while they run, and fast enough for a demo. */
const commonArgs = ["--port", "0", "--profile", "public", "--operation-latency", "1500"];

function sandboxArgsFor(computes: Computes): readonly string[] {
  if (computes.kind === "Missing") return commonArgs;
  const ofComputes = "--compute postgres --compute-port 0 --compute-hosts names --postgres-bin".split(" ");
  return [...commonArgs, ...ofComputes, computes.postgresBin];
}

/** Starts the three parts, each as a process of its own, and installs the operator in the cluster. */
export async function startStage(terminal: Terminal, world: DemoWorld, computes: Computes): Promise<Story> {
  const startMs = performance.now();
  const cluster = await world.startCluster();
  const { url, kubeconfigFile } = cluster.apiServer;
  const shell = new Shell({ terminal, client: cluster.kubectl, signal: world.signal });
  terminal.success(`a real kube-apiserver with its etcd runs on ${url} (${secondsSince(startMs)})`);
  const sandbox = await startSandbox(terminal, world, computes);
  await shell.kubectl("apply", "-k", "crds");
  await untilEstablished(cluster.kubectl);
  await shell.kubectl("apply", "-k", "deploy/base");
  terminal.say("No node runs pods here: the operator runs beside, with nothing but its service account's token.");
  const settings = {
    CONTROL_PLANE_URL: `${sandbox.origin}/api/v2`,
    CONTROL_PLANE_API_KEY_FILE: world.file("sandbox-key"),
    KUBECONFIG: await world.writeOperatorKubeconfig(cluster),
    // Operations that the control plane starts by itself are seen this soon. The default is 30 seconds.
    PROJECT_POLL_SECONDS: "1",
    ...(await databaseSettings(terminal, world, sandbox)),
  };
  const operatorMs = performance.now();
  const assignments = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  terminal.command([...shellWords(assignments), "endpoint-operator", "run"]);
  const metricsUrl = await world.startOperator(settings);
  terminal.success(`the operator is ready (${secondsSince(operatorMs)})`);
  terminal.command([`METRICS=${metricsUrl}`]);
  const monitoring = await world.startMonitoring(metricsUrl);
  if (monitoring.kind === "Running") {
    terminal.success(`Prometheus on ${monitoring.stack.prometheus.url} and Alertmanager watch it`);
  }
  return new Story(shell, { world, sandbox, kubeconfigFile, metricsUrl, monitoring });
}

async function startSandbox(terminal: Terminal, world: DemoWorld, computes: Computes): Promise<SandboxAddress> {
  const args = sandboxArgsFor(computes);
  if (computes.kind === "Missing") terminal.say(`No database servers run behind the endpoints: ${computes.why}`);
  terminal.command(shellWords(["endpoint-operator", "sandbox", ...args]));
  const sandbox = await world.startSandbox(args);
  terminal.success("the sandbox, a local control plane with a key that it made up, runs");
  terminal.command([`SANDBOX=${sandbox.origin}`]);
  terminal.command([`${keyVariable}=$(cat ${world.file("sandbox-key")})`]);
  return sandbox;
}

/** Returns how applications reach the databases, and with which certificate authority. Empty without databases. */
async function databaseSettings(
  terminal: Terminal,
  world: DemoWorld,
  { origin, databasePort }: SandboxAddress,
): Promise<Readonly<Record<string, string>>> {
  if (databasePort === undefined) return {};
  const file = world.file("databases.crt");
  terminal.command(["curl", "-s", "-o", file, "$SANDBOX/sandbox/v1/ca.crt"]);
  const answer = await fetch(`${origin}/sandbox/v1/ca.crt`, { signal: AbortSignal.timeout(10_000) });
  await writeFile(file, await answer.text());
  return { DATABASE_PORT: databasePort, DATABASE_CA_FILE: file, DATABASE_SSL_MODE: "verify-full" };
}
