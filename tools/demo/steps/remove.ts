import { endpointsPath, inNamespace } from "../scene/names.ts";
import { curl, kubectl, kubectlUntil, secondsSince } from "../scene/narrate.ts";
import type { Step } from "../scene/story.ts";

/** Everything goes, in Kubernetes and at the service. */
export const remove: Step = {
  title: "Everything is deleted",
  async play(story) {
    const { terminal } = story;
    const startMs = performance.now();
    await kubectl(story, inNamespace("delete", "dba,cpe", "--all"));
    await kubectlUntil(
      story,
      inNamespace(
        "get",
        "events",
        "--field-selector=reason=EndpointDeleted",
        "-o=custom-columns=RESOURCE:.involvedObject.name,REASON:.reason,MESSAGE:.message",
      ),
      (output) => (output.match(/EndpointDeleted/g) ?? []).length === 4,
    );
    const answer = (await curl(story, {
      method: "GET",
      path: endpointsPath,
      isAuthorized: true,
    })) as { readonly endpoints: readonly { readonly name?: string }[] };
    terminal.quote(JSON.stringify(answer));
    // The project came with an endpoint on its primary branch, which no resource owns and the operator leaves alone.
    const left = answer.endpoints.filter(({ name }) => name?.includes("-k8s-"));
    if (left.length > 0) throw new Error("the sandbox still has endpoints that the operator created");
    terminal.success(`nothing is left in the cluster or in the sandbox (${secondsSince(startMs)})`);
  },
};
