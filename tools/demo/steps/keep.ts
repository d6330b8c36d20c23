/** Keeps the demo running after its last step. */
import { once } from "node:events";
import { endpointsPath, samples } from "../scene/names.ts";
import { curlWords, keyVariable, type Story } from "../scene/story.ts";

/** Prints how to go on by hand, and waits until the demo is asked to stop. */
export async function keepRunning(story: Story, interruption: AbortSignal): Promise<void> {
  const { terminal, stage, signal } = story;
  const { processes, sandbox, kubeconfigFile, metricsUrl, monitoring } = stage;
  const isWatched = monitoring.kind === "Running";
  terminal.heading("All of it is still running. To go on by hand, in another terminal, from here:");
  terminal.offer("export", `KUBECONFIG=${kubeconfigFile}`);
  terminal.offer("export", `PATH=${processes.file("bin")}:$PATH`);
  terminal.offer(`SANDBOX=${sandbox.origin}`);
  terminal.offer(`METRICS=${metricsUrl}`);
  if (isWatched) terminal.offer(`PROMETHEUS=${monitoring.stack.prometheus.url}`);
  terminal.offer(`${keyVariable}=$(cat ${processes.file("sandbox-key")})`);
  terminal.say("");
  terminal.offer("kubectl", "get", "cpe", "-A");
  terminal.offer("kubectl", "explain", "computeendpoint.spec", "--recursive");
  terminal.offer("kubectl", "apply", "-f", "deploy/samples/adopt-main.yaml");
  terminal.offer("curl", "-s", "$METRICS", "|", "grep", "^compute_endpoint");
  if (isWatched) terminal.offer("curl", "-s", '"$PROMETHEUS/api/v1/query?query=compute_endpoint_info"');
  terminal.offer(...curlWords({ method: "GET", path: endpointsPath }));
  terminal.offer(...curlWords({ method: "GET", path: "/sandbox/v1/requests" }));
  terminal.offer("kubectl", "-n", samples.namespace, "delete", "cpe", "--all");
  terminal.say("");
  for (const { logFile } of processes.programs) terminal.offer("tail", logFile);
  terminal.say("");
  terminal.say(
    `To stop: Ctrl-C here, or kill ${process.pid}. Everything above goes then, logs and endpoints included.`,
  );
  if (!signal.aborted) await once(signal, "abort");
  // If a program ended by itself, this is a failure. If the user asked to stop, it is not.
  if (!interruption.aborted) signal.throwIfAborted();
}
