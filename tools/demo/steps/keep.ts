/** Keeps the demo running after its last step. */
import { once } from "node:events";
import { project, shop } from "../scene/names.ts";
import type { Story } from "../scene/story.ts";

/** Prints how to go on by hand, and waits until the demo is asked to stop. */
export async function keepRunning(story: Story, interruption: AbortSignal): Promise<void> {
  const { shell, processes, monitoring } = story;
  const { terminal, signal } = shell;
  terminal.heading("All of it is still running. To go on by hand, in another terminal, from here:");
  for (const assignment of shell.assignments) terminal.offer(assignment);
  terminal.say("");
  terminal.offer("kubectl get cpe -A");
  terminal.offer("kubectl apply -f deploy/samples/adopt-main.yaml");
  terminal.offer("curl -s $METRICS | grep ^compute_endpoint");
  if (monitoring.kind === "Running") terminal.offer('curl -s "$PROMETHEUS/api/v1/query?query=compute_endpoint_info"');
  terminal.offer(`curl -s ${project}/endpoints`);
  terminal.offer("curl -s $SANDBOX/sandbox/v1/requests");
  terminal.offer(`kubectl ${shop} delete cpe --all`);
  terminal.say("");
  for (const { logFile } of processes.programs) terminal.offer(`tail ${logFile}`);
  terminal.say("");
  terminal.say(
    `To stop: Ctrl-C here, or kill ${process.pid}. Everything above goes then, logs and endpoints included.`,
  );
  if (!signal.aborted) await once(signal, "abort");
  // If a program ended by itself, this is a failure. If the user asked to stop, it is not.
  if (!interruption.aborted) signal.throwIfAborted();
}
