/** The steps about endpoints: they are created and deleted. */
import { project, shop } from "../scene/names.ts";
import type { Step } from "../scene/story.ts";
import { watchUntilReady } from "../scene/watch-rows.ts";

/** Creates a resource with `kubectl apply`, and waits until its endpoint runs. */
export const create: Step = {
  title: "An endpoint comes up",
  async play({ shell }) {
    const act = () => shell.run("kubectl apply -f deploy/samples/namespace.yaml -f deploy/samples/orders.yaml");
    await watchUntilReady(shell, act, "start_compute");
    await shell.run(`kubectl ${shop} get cpe`);
    return "Ready; start_compute was seen in flight";
  },
};

export const replicate: Step = {
  title: "Three read replicas follow",
  async play({ shell }) {
    await shell.run("kubectl apply -f deploy/samples/orders-replicas.yaml");
    await shell.run(`kubectl ${shop} wait --for=condition=Ready cpe --all --timeout=60s`);
    await shell.run(`kubectl ${shop} get cpe`);
    return "all three are Ready, one create at a time: the control plane locks the project";
  },
};

/** Deletes the resources, and shows that the control plane has only what it had before. */
export const remove: Step = {
  title: "Everything is deleted",
  async play({ shell }) {
    await shell.run(`kubectl ${shop} delete dba,cpe --all`);
    const columns = "-o=custom-columns=RESOURCE:.involvedObject.name,REASON:.reason,MESSAGE:.message";
    const isWhole = (output: string) => output.split("EndpointDeleted").length > 4;
    await shell.until(`kubectl ${shop} get events --field-selector=reason=EndpointDeleted ${columns}`, isWhole);
    type Answer = { readonly endpoints: readonly { readonly id: string; readonly name?: string }[] };
    const answer = JSON.parse(await shell.run(`curl -sf ${project}/endpoints`)) as Answer;
    const left = answer.endpoints.filter(({ name }) => name?.includes("-k8s-"));
    if (left.length > 0) throw new Error("the sandbox still has endpoints that the operator created");
    const [{ id } = { id: "none" }] = answer.endpoints;
    return `the four endpoints are gone; ${id}, which the project had before, is still there`;
  },
};
