/** The first step: starts everything, each part as a process of its own, and installs the operator in the cluster. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { startApiServer } from "../../api-server/api-server.ts";
import { untilEstablished } from "../../api-server/established.ts";
import { writeKubeconfig } from "../../api-server/kubeconfig.ts";
import { AssetError } from "../../assets/asset-error.ts";
import { monitoringAssets } from "../../assets/asset-table.ts";
import { withProgress } from "../../assets/progress.ts";
import { resolveAssets } from "../../assets/resolve-assets.ts";
import { buildProgram } from "../../build.ts";
import { startOperator, startSandbox } from "../../process/programs.ts";
import { startMonitoringStack } from "../../prometheus/monitoring-stack.ts";
import type { Computes } from "../scene/computes.ts";
import { secondsSince } from "../scene/names.ts";
import type { Processes } from "../scene/processes.ts";
import { Shell } from "../scene/shell.ts";
import type { Monitoring, Story } from "../scene/story.ts";
import type { Terminal } from "../scene/terminal.ts";

const operatorNamespace = "endpoint-operator-system";

/** Starts the parts in the order in which they need each other. */
export async function startStage(terminal: Terminal, processes: Processes, computes: Computes): Promise<Story> {
  const { shell, program, kubeconfig } = await startCluster(terminal, processes);
  const sandbox = await startControlPlane(shell, { processes, program, computes });
  await shell.run("kubectl apply -k crds");
  await untilEstablished({ run: (args) => shell.quiet(`kubectl ${args.join(" ")}`) });
  await shell.run("kubectl apply -k deploy/base");
  shell.say("No node runs pods here: the operator runs beside, with nothing but its service account's token.");
  const settings = {
    CONTROL_PLANE_URL: `${sandbox.origin}/api/v2`,
    CONTROL_PLANE_API_KEY_FILE: sandbox.keyFile,
    KUBECONFIG: await kubeconfig(),
    // Operations that the control plane starts by itself are seen this soon. The default is 30 seconds.
    PROJECT_POLL_SECONDS: "1",
    ...(await databaseSettings(shell, processes.file("databases.crt"), sandbox.databasePort)),
  };
  const startMs = performance.now();
  const inFront = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  terminal.command([...inFront, "endpoint-operator run"].join(" "));
  const { component, metricsUrl } = await startOperator({ program, settings, logFile: processes.file("operator.log") });
  processes.keepProgram(component);
  terminal.success(`the operator is ready (${secondsSince(startMs)})`);
  shell.set("METRICS", metricsUrl);
  return { shell, processes, computes, monitoring: await startMonitoring(shell, processes, metricsUrl) };
}

/** Starts an API server, and bundles the program. @returns a shell with kubectl, and what makes the kubeconfig */
async function startCluster(terminal: Terminal, processes: Processes) {
  const { signal } = processes;
  const startMs = performance.now();
  const progress = (line: string) => terminal.say(line);
  const assets = await resolveAssets(["kube-apiserver", "etcd", "kubectl"], { progress, signal });
  const apiServer = await withProgress(progress, "Starting the API server", () => startApiServer({ assets }));
  processes.keep(apiServer);
  const bin = processes.file("bin");
  await mkdir(bin);
  await symlink(assets.kubectl, processes.file("bin/kubectl"));
  // The plugin needs a newer Node than this repository's commands.
  await symlink(process.execPath, processes.file("bin/node"));
  const { program } = await withProgress(progress, "Bundling the program", () => buildProgram(processes.file("dist")));
  await symlink(processes.file("dist/kubectl-endpoints.js"), processes.file("bin/kubectl-endpoints"));
  const { url: server, caFile, kubeconfigFile: KUBECONFIG } = apiServer;
  // kubectl sees nothing of the user's own settings, and leaves nothing there.
  const kept = { KUBECACHEDIR: processes.file("kubectl-cache"), KUBERC: "off" };
  const shell = new Shell(terminal, signal, {
    ...process.env,
    KUBECONFIG,
    PATH: `${bin}:${process.env.PATH}`,
    ...kept,
  });
  shell.assignments.push(`export KUBECONFIG=${KUBECONFIG}`, `export PATH=${bin}:$PATH`);
  terminal.success(`a real kube-apiserver with its etcd runs on ${server} (${secondsSince(startMs)})`);
  const kubeconfig = async () => {
    const token = await shell.quiet(`kubectl create token endpoint-operator -n ${operatorNamespace} --duration=24h`);
    const file = processes.file("operator-kubeconfig");
    await writeKubeconfig(file, { server, caFile, token: token.trim(), namespace: operatorNamespace });
    return file;
  };
  return { shell, program, kubeconfig };
}

/** `program`: the path of the bundle. */
type ControlPlaneOptions = Pick<Story, "processes" | "computes"> & { readonly program: string };

/**
 * Starts the sandbox on a free port with a random key. Its operations are slow enough to be seen while they run.
 * @returns its URL without a path, the file with its API key, and the port of the databases, if their servers run
 */
async function startControlPlane(shell: Shell, options: ControlPlaneOptions) {
  const { terminal } = shell;
  const { processes, program, computes } = options;
  const common = "--port 0 --profile public --operation-latency 1500".split(" ");
  const ofComputes = "--compute postgres --compute-port 0 --compute-hosts names --postgres-bin".split(" ");
  const args = [...common, ...(computes.kind === "Found" ? [...ofComputes, computes.postgresBin] : [])];
  if (computes.kind === "Missing") terminal.say(`No database servers run behind the endpoints: ${computes.why}`);
  terminal.command(`endpoint-operator sandbox ${args.join(" ")}`);
  const { component, origin, log } = await startSandbox({ program, args, logFile: processes.file("sandbox.log") });
  processes.keepProgram(component);
  const [, apiKey = ""] = /API key (\S+)\n/.exec(log) ?? [];
  const keyFile = processes.file("sandbox-key");
  await writeFile(keyFile, apiKey, { mode: 0o600 });
  terminal.success("the sandbox, a local control plane with a key that it made up, runs");
  shell.set("SANDBOX", origin);
  shell.set("SANDBOX_KEY", apiKey, `$(cat ${keyFile})`);
  return { origin, keyFile, databasePort: /databases on [^\s,]+:(\d+),/.exec(log)?.[1] };
}

/** Returns how applications reach the databases, and with which certificate authority. Empty without databases. */
async function databaseSettings(shell: Shell, file: string, port: string | undefined): Promise<Record<string, string>> {
  if (port === undefined) return {};
  await shell.do(`curl -sf -o ${file} $SANDBOX/sandbox/v1/ca.crt`);
  return { DATABASE_PORT: port, DATABASE_CA_FILE: file, DATABASE_SSL_MODE: "verify-full" };
}

/** Starts Prometheus and Alertmanager. If they are not available, the demo goes on without them. */
async function startMonitoring(shell: Shell, processes: Processes, metricsUrl: string): Promise<Monitoring> {
  const { terminal } = shell;
  try {
    const progress = (line: string) => terminal.say(line);
    const assets = await resolveAssets(monitoringAssets, { progress, signal: processes.signal });
    // In a cluster, service discovery sets this label: the operator's own namespace, not that of the resources.
    const targetLabels = { namespace: operatorNamespace };
    const stack = await startMonitoringStack({ assets, targets: [new URL(metricsUrl).host], targetLabels });
    processes.keep(stack);
    terminal.success("Prometheus and Alertmanager watch it");
    shell.set("PROMETHEUS", stack.prometheus.url);
    return { kind: "Running", stack };
  } catch (error) {
    if (!(error instanceof AssetError)) throw error;
    return { kind: "Missing", why: error.message };
  }
}
