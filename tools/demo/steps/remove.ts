/** The step that deletes everything. */
import { endpointsPath, inNamespace } from "../scene/names.ts";
import { curl, eventsUntil, kubectl, secondsSince } from "../scene/narrate.ts";
import type { Step } from "../scene/story.ts";

/** Deletes the resources, and shows that Kubernetes and the control plane have nothing left. */
export const remove: Step = {
  title: "Everything is deleted",
  async play(story) {
    const { terminal } = story;
    const startMs = performance.now();
    await kubectl(story, inNamespace("delete", "dba,cpe", "--all"));
    const columns = "RESOURCE:.involvedObject.name,REASON:.reason,MESSAGE:.message";
    const isWhole = (output: string) => (output.match(/EndpointDeleted/g) ?? []).length === 4;
    await eventsUntil(story, "EndpointDeleted", columns, isWhole);
    const answer = (await curl(story, {
      method: "GET",
      path: endpointsPath,
    })) as { readonly endpoints: readonly { readonly name?: string }[] };
    terminal.quote(JSON.stringify(answer));
    // The project already had an endpoint on its primary branch. No resource owns it, and the operator leaves it alone.
    const left = answer.endpoints.filter(({ name }) => name?.includes("-k8s-"));
    if (left.length > 0) throw new Error("the sandbox still has endpoints that the operator created");
    terminal.success(`nothing is left in the cluster or in the sandbox (${secondsSince(startMs)})`);
  },
};
