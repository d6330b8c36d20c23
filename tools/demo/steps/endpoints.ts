/** The steps about endpoints: they are created, resized, suspended and deleted. */
import { endpoints, replicas, shop, watchOperations } from "../scene/names.ts";
import { advanceClock, type Step, showEvents } from "../scene/story.ts";
import { isSettled, watchRows } from "../scene/watch-rows.ts";

/** Creates a resource with `kubectl apply`, and waits until its endpoint runs. */
export const create: Step = {
  title: "An endpoint comes up",
  async play({ shell }) {
    await watchRows(shell, {
      command: watchOperations(),
      hasRows: false,
      act: () => shell.run("kubectl apply -f deploy/samples/namespace.yaml -f deploy/samples/orders.yaml"),
      what: "orders is Ready, its start_compute seen in flight",
      isWanted: (rows) => isSettled(rows, "orders", "start_compute"),
    });
    await shell.run(`kubectl ${shop} get cpe`);
    return "Ready; start_compute was seen in flight";
  },
};

/** Creates read replicas of one branch. */
export const replicate: Step = {
  title: "Three read replicas follow",
  async play({ shell }) {
    await watchRows(shell, {
      command: watchOperations(),
      hasRows: true,
      act: () => shell.run("kubectl apply -f deploy/samples/orders-replicas.yaml"),
      what: "three replicas are Ready",
      isWanted: (rows) => replicas.every((name) => isSettled(rows, name)),
    });
    return "all three are Ready, one create at a time: the control plane locks the project";
  },
};

/** Shows that another size restarts the compute, and that an event announces it. */
export const resize: Step = {
  title: "Another size restarts the compute",
  async play(story) {
    const { shell } = story;
    const size = `-p='{"spec":{"compute":{"minUnits":0.5,"maxUnits":4}}}'`;
    await watchRows(shell, {
      command: watchOperations("orders"),
      hasRows: true,
      act: () => shell.run(`kubectl ${shop} patch cpe orders --type=merge ${size}`),
      what: "the compute was suspended and started again",
      isWanted: (rows) => isSettled(rows, "orders", "suspend_compute", "start_compute"),
    });
    shell.say("An event announced the restart:");
    await showEvents(story, "EndpointRestarting", "REASON:.reason,MESSAGE:.message");
    return "restarted and Ready";
  },
};

/** Shows that a suspended compute is healthy. */
export const idle: Step = {
  title: "An idle endpoint stays Ready",
  async play(story) {
    const { shell } = story;
    shell.say("orders-replica-3 suspends after 60 s without activity. Here the clock jumps over them:");
    await advanceClock(story, 60);
    await shell.run(`kubectl ${shop} wait --for=jsonpath='{.status.state}=idle' cpe/orders-replica-3 --timeout=60s`);
    await shell.run(`kubectl ${shop} wait --for=condition=Ready cpe/orders-replica-3 --timeout=60s`);
    await shell.run(`kubectl ${shop} get cpe`);
    return "orders-replica-3 is idle and Ready";
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
    const answer = JSON.parse(await shell.run(`curl -sf ${endpoints}`)) as Answer;
    const left = answer.endpoints.filter(({ name }) => name?.includes("-k8s-"));
    if (left.length > 0) throw new Error("the sandbox still has endpoints that the operator created");
    const [{ id } = { id: "none" }] = answer.endpoints;
    return `the four endpoints are gone; ${id}, which the project had before, is still there`;
  },
};
