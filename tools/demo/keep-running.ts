import { once } from "node:events";
import { endpointsPath, samples } from "./names.ts";
import { curlWords, keyVariable } from "./sandbox-client.ts";
import type { Story } from "./story.ts";

/** Says how to go on by hand, and waits until the demo is asked to stop. */
export async function keepRunning(story: Story, interruption: AbortSignal): Promise<void> {
  const { terminal, world, sandbox, kubeconfigFile, metricsUrl } = story;
  terminal.heading("All of it is still running. To go on by hand, in another terminal, from here:");
  terminal.command(["export", `KUBECONFIG=${kubeconfigFile}`]);
  terminal.command(["export", `PATH=${world.file("bin")}:$PATH`]);
  terminal.command([`SANDBOX=${sandbox.origin}`]);
  terminal.command([`METRICS=${metricsUrl}`]);
  terminal.command([`${keyVariable}=$(cat ${world.file("sandbox-key")})`]);
  terminal.say("");
  terminal.command(["kubectl", "get", "cpe", "-A"]);
  terminal.command(["kubectl", "explain", "computeendpoint.spec", "--recursive"]);
  terminal.command(["kubectl", "apply", "-f", "deploy/samples/adopt-staging.yaml"]);
  terminal.command(["curl", "-s", "$METRICS", "|", "grep", "^compute_endpoint"]);
  terminal.command(curlWords({ method: "GET", path: endpointsPath, isAuthorized: true }));
  terminal.command(curlWords({ method: "GET", path: "/sandbox/v1/requests", isAuthorized: false }));
  terminal.command(["kubectl", "-n", samples.namespace, "delete", "cpe", "--all"]);
  terminal.say("");
  for (const file of world.logFiles) terminal.command(["tail", file]);
  terminal.say("");
  terminal.say(
    `To stop: Ctrl-C here, or kill ${process.pid}. Everything above goes then, logs and endpoints included.`,
  );
  if (!world.signal.aborted) await once(world.signal, "abort");
  // A program that ended by itself is a failure; being asked to stop is not.
  if (!interruption.aborted) world.signal.throwIfAborted();
}
