/** The first step: starts everything, each part as a process of its own, and installs the operator in the cluster. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { startApiServer } from "../../api-server/api-server.ts";
import { untilEstablished } from "../../api-server/established.ts";
import { writeKubeconfig } from "../../api-server/kubeconfig.ts";
import { AssetError } from "../../assets/asset-error.ts";
import { monitoringAssets } from "../../assets/asset-table.ts";
import { resolveAssets } from "../../assets/resolve-assets.ts";
import { buildProgram } from "../../build.ts";
import { createKubectl } from "../../process/kubectl.ts";
import { startOperator, startSandbox } from "../../process/programs.ts";
import { startMonitoringStack } from "../../prometheus/monitoring-stack.ts";
import type { Computes } from "../scene/computes.ts";
import { repositoryRoot, secondsSince } from "../scene/names.ts";
import type { Processes } from "../scene/processes.ts";
import { Shell, shellWords } from "../scene/shell.ts";
import { keyVariable, type Monitoring, type SandboxAddress, Story } from "../scene/story.ts";
import type { Terminal } from "../scene/terminal.ts";

const operatorNamespace = "endpoint-operator-system";

/** Starts the parts in the order in which they need each other. */
export async function startStage(terminal: Terminal, processes: Processes, computes: Computes): Promise<Story> {
  const { signal } = processes;
  const startMs = performance.now();
  const progress = (line: string) => terminal.say(line);
  const assets = await resolveAssets(["kube-apiserver", "etcd", "kubectl"], { progress, signal });
  const apiServer = await startApiServer({ assets });
  processes.keep(apiServer);
  await mkdir(processes.file("bin"));
  await symlink(assets.kubectl, processes.file("bin/kubectl"));
  const { program } = await buildProgram(processes.file("dist"));
  const { url: server, caFile, kubeconfigFile } = apiServer;
  const places = { kubeconfigFile, cacheFolder: processes.file("kubectl-cache"), cwd: repositoryRoot };
  const client = createKubectl({ binary: assets.kubectl, ...places, signal });
  const shell = new Shell({ terminal, client, signal });
  terminal.success(`a real kube-apiserver with its etcd runs on ${server} (${secondsSince(startMs)})`);

  const sandbox = await startControlPlane(shell, { processes, program, computes });
  await shell.kubectl("apply", "-k", "crds");
  await untilEstablished(client);
  await shell.kubectl("apply", "-k", "deploy/base");
  terminal.say("No node runs pods here: the operator runs beside, with nothing but its service account's token.");
  const account = ["endpoint-operator", "-n", operatorNamespace];
  const token = (await client.run(["create", "token", ...account, "--duration=24h"])).trim();
  const kubeconfig = processes.file("operator-kubeconfig");
  await writeKubeconfig(kubeconfig, { server, caFile, token, namespace: operatorNamespace });
  const settings = {
    CONTROL_PLANE_URL: `${sandbox.origin}/api/v2`,
    CONTROL_PLANE_API_KEY_FILE: processes.file("sandbox-key"),
    KUBECONFIG: kubeconfig,
    // Operations that the control plane starts by itself are seen this soon. The default is 30 seconds.
    PROJECT_POLL_SECONDS: "1",
    ...(await databaseSettings(terminal, processes.file("databases.crt"), sandbox)),
  };
  const operatorMs = performance.now();
  const assignments = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  terminal.command([...shellWords(assignments), "endpoint-operator", "run"]);
  const { component, metricsUrl } = await startOperator({ program, settings, logFile: processes.file("operator.log") });
  processes.keepProgram(component);
  terminal.success(`the operator is ready (${secondsSince(operatorMs)})`);
  terminal.command([`METRICS=${metricsUrl}`]);
  const monitoring = await startMonitoring(shell, processes, metricsUrl);
  return new Story(shell, { processes, sandbox, kubeconfigFile, metricsUrl, monitoring });
}

interface ControlPlaneOptions {
  readonly processes: Processes;
  /** The path of the bundle. */
  readonly program: string;
  readonly computes: Computes;
}

/** Starts the sandbox on a free port with a random key. Its operations are slow enough to be seen while they run. */
async function startControlPlane({ terminal }: Shell, options: ControlPlaneOptions): Promise<SandboxAddress> {
  const { processes, program, computes } = options;
  const common = "--port 0 --profile public --operation-latency 1500".split(" ");
  const ofComputes = "--compute postgres --compute-port 0 --compute-hosts names --postgres-bin".split(" ");
  const args = [...common, ...(computes.kind === "Found" ? [...ofComputes, computes.postgresBin] : [])];
  if (computes.kind === "Missing") terminal.say(`No database servers run behind the endpoints: ${computes.why}`);
  terminal.command(shellWords(["endpoint-operator", "sandbox", ...args]));
  const { component, origin, log } = await startSandbox({ program, args, logFile: processes.file("sandbox.log") });
  processes.keepProgram(component);
  const [, apiKey = ""] = /API key (\S+)\n/.exec(log) ?? [];
  await writeFile(processes.file("sandbox-key"), apiKey, { mode: 0o600 });
  terminal.success("the sandbox, a local control plane with a key that it made up, runs");
  terminal.command([`SANDBOX=${origin}`]);
  terminal.command([`${keyVariable}=$(cat ${processes.file("sandbox-key")})`]);
  return { origin, apiKey, databasePort: /databases on [^\s,]+:(\d+),/.exec(log)?.[1] };
}

/** Returns how applications reach the databases, and with which certificate authority. Empty without databases. */
async function databaseSettings(
  terminal: Terminal,
  file: string,
  { origin, databasePort }: SandboxAddress,
): Promise<Readonly<Record<string, string>>> {
  if (databasePort === undefined) return {};
  terminal.command(["curl", "-s", "-o", file, "$SANDBOX/sandbox/v1/ca.crt"]);
  const answer = await fetch(`${origin}/sandbox/v1/ca.crt`, { signal: AbortSignal.timeout(10_000) });
  await writeFile(file, await answer.text());
  return { DATABASE_PORT: databasePort, DATABASE_CA_FILE: file, DATABASE_SSL_MODE: "verify-full" };
}

/** Starts Prometheus and Alertmanager. If they are not available, the demo goes on without them. */
async function startMonitoring({ terminal }: Shell, processes: Processes, metricsUrl: string): Promise<Monitoring> {
  try {
    const progress = (line: string) => terminal.say(line);
    const assets = await resolveAssets(monitoringAssets, { progress, signal: processes.signal });
    // In a cluster, service discovery sets this label: the operator's own namespace, not that of the resources.
    const targetLabels = { namespace: operatorNamespace };
    const stack = await startMonitoringStack({ assets, targets: [new URL(metricsUrl).host], targetLabels });
    processes.keep(stack);
    terminal.success(`Prometheus on ${stack.prometheus.url} and Alertmanager watch it`);
    return { kind: "Running", stack };
  } catch (error) {
    if (!(error instanceof AssetError)) throw error;
    return { kind: "Missing", why: error.message };
  }
}
