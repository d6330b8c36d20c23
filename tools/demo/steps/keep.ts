/** Keeps the demo running after its last step. */
import { once } from "node:events";
import { project, shop } from "../scene/names.ts";
import type { Story } from "../scene/story.ts";

/** Prints how to go on by hand, and waits until the demo is asked to stop. */
export async function keepRunning(story: Story, interruption: AbortSignal): Promise<void> {
  const { shell, processes, monitoring, computes } = story;
  const { terminal, signal } = shell;
  terminal.heading("All of it is still running. To go on by hand, in another terminal, from here:");
  for (const assignment of shell.assignments) terminal.offer(assignment);
  terminal.offer("export CONTROL_PLANE_URL=$SANDBOX/api/v2 CONTROL_PLANE_API_KEY=$SANDBOX_KEY");
  terminal.say("");
  const uri = `kubectl ${shop} get secret orders-db -o go-template='{{.data.uri|base64decode}}'`;
  const psql = `PGHOSTADDR=127.0.0.1 PGSSLROOTCERT=${processes.file("databases.crt")} psql "$(${uri})"`;
  const logs = processes.programs.map(({ logFile }) => logFile).join(" ");
  const commands = [
    ...["kubectl get cpe -A", "kubectl endpoints why -A", "kubectl endpoints plan orders -n shop"],
    ...["kubectl apply -f deploy/samples/adopt-main.yaml", "curl -s $METRICS | grep ^compute_endpoint"],
    ...(monitoring.kind === "Running" ? ['curl -s "$PROMETHEUS/api/v1/query?query=compute_endpoint_info"'] : []),
    ...[`curl -s ${project}/branches`, ...(computes.kind === "Found" ? [psql] : []), `tail ${logs}`],
    `kubectl ${shop} delete dba,cpe,dbb --all`,
  ];
  for (const command of commands) terminal.offer(command);
  terminal.say("");
  const { now } = JSON.parse(await shell.quiet("curl -sf $SANDBOX/sandbox/v1/clock")) as { readonly now: string };
  const aheadMinutes = Math.round((Date.parse(now) - Date.now()) / 60_000);
  terminal.say(`The clock of the sandbox is ${aheadMinutes} minutes ahead, because it jumped.`);
  terminal.say("Branches without an endpoint: br-bold-river-123456 (staging), br-soft-rain-123456 (preview).");
  terminal.say("No controller-manager runs here. Deployments show 0/2, and a deleted namespace never ends.");
  terminal.say(`To stop: Ctrl-C here, or kill ${process.pid}. Everything above goes then, logs included.`);
  if (!signal.aborted) await once(signal, "abort");
  // If a program ended by itself, this is a failure. If the user asked to stop, it is not.
  if (!interruption.aborted) signal.throwIfAborted();
}
