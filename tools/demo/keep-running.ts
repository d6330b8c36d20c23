/** Keeps the demo running after its last step. */
import { once } from "node:events";
import { endpointsPath, samples } from "./scene/names.ts";
import { curlWords, keyVariable } from "./scene/sandbox-client.ts";
import type { Story } from "./scene/story.ts";

/** Prints how to go on by hand, and waits until the demo is asked to stop. */
export async function keepRunning(story: Story, interruption: AbortSignal): Promise<void> {
  const { terminal, world, sandbox, kubeconfigFile, metricsUrl, monitoring } = story;
  terminal.heading("All of it is still running. To go on by hand, in another terminal, from here:");
  terminal.offer(["export", `KUBECONFIG=${kubeconfigFile}`]);
  terminal.offer(["export", `PATH=${world.file("bin")}:$PATH`]);
  terminal.offer([`SANDBOX=${sandbox.origin}`]);
  terminal.offer([`METRICS=${metricsUrl}`]);
  if (monitoring.kind === "Running") terminal.offer([`PROMETHEUS=${monitoring.stack.prometheus.url}`]);
  terminal.offer([`${keyVariable}=$(cat ${world.file("sandbox-key")})`]);
  terminal.say("");
  terminal.offer(["kubectl", "get", "cpe", "-A"]);
  terminal.offer(["kubectl", "explain", "computeendpoint.spec", "--recursive"]);
  terminal.offer(["kubectl", "apply", "-f", "deploy/samples/adopt-staging.yaml"]);
  terminal.offer(["curl", "-s", "$METRICS", "|", "grep", "^compute_endpoint"]);
  if (monitoring.kind === "Running") {
    terminal.offer(["curl", "-s", "$PROMETHEUS/api/v1/query?query=compute_endpoint_info"]);
  }
  terminal.offer(curlWords({ method: "GET", path: endpointsPath }));
  terminal.offer(curlWords({ method: "GET", path: "/sandbox/v1/requests" }));
  terminal.offer(["kubectl", "-n", samples.namespace, "delete", "cpe", "--all"]);
  terminal.say("");
  for (const file of world.logFiles) terminal.offer(["tail", file]);
  terminal.say("");
  terminal.say(
    `To stop: Ctrl-C here, or kill ${process.pid}. Everything above goes then, logs and endpoints included.`,
  );
  if (!world.signal.aborted) await once(world.signal, "abort");
  // If a program ended by itself, this is a failure. If the user asked to stop, it is not.
  if (!interruption.aborted) world.signal.throwIfAborted();
}
