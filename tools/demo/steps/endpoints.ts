/** The steps about endpoints: they are created, resized, suspended and deleted. */
import { endpointsPath, inNamespace, operationColumns, samples } from "../scene/names.ts";
import type { Step } from "../scene/story.ts";
import { isSettled, watchRows } from "../scene/watch-rows.ts";

/** Creates a resource with `kubectl apply`, and waits until its endpoint runs. */
export const create: Step = {
  title: "An endpoint comes up",
  async play(story) {
    await watchRows(story, {
      args: operationColumns("--watch"),
      hasRows: false,
      act: () => story.kubectl("apply", "-f", samples.namespaceFile, "-f", samples.primaryFile),
      what: "orders is Ready, its start_compute seen in flight",
      isWanted: (rows) => isSettled(rows, samples.primary, "start_compute"),
    });
    await story.kubectl(...inNamespace("get", "cpe"));
    return "Ready; start_compute was seen in flight";
  },
};

/** Creates read replicas of one branch. */
export const replicate: Step = {
  title: "Three read replicas follow",
  async play(story) {
    await watchRows(story, {
      args: operationColumns("--watch"),
      hasRows: true,
      act: () => story.kubectl("apply", "-f", samples.replicasFile),
      what: "three replicas are Ready",
      isWanted: (rows) => samples.replicas.every((name) => isSettled(rows, name)),
    });
    return "all three are Ready, one create at a time: the control plane locks the project";
  },
};

const newSize = JSON.stringify({ spec: { compute: { minUnits: 0.5, maxUnits: 4 } } });

/** Shows that another size restarts the compute, and that an event announces it. */
export const resize: Step = {
  title: "Another size restarts the compute",
  async play(story) {
    await watchRows(story, {
      args: operationColumns(samples.primary, "--watch"),
      hasRows: true,
      act: () => story.kubectl(...inNamespace("patch", "cpe", samples.primary, "--type=merge", `-p=${newSize}`)),
      what: "the compute was suspended and started again",
      isWanted: (rows) => isSettled(rows, samples.primary, "suspend_compute", "start_compute"),
    });
    story.say("An event announced the restart:");
    await story.events("EndpointRestarting", "REASON:.reason,MESSAGE:.message");
    return "restarted and Ready";
  },
};

/** Shows that a suspended compute is healthy. */
export const idle: Step = {
  title: "An idle endpoint stays Ready",
  async play(story) {
    const { sleeper, sleeperSuspendSeconds: seconds } = samples;
    story.say(`${sleeper} suspends after ${seconds} s without activity. Here the clock jumps over them:`);
    await story.advanceClock(seconds);
    const wait = (state: string) => story.kubectl(...inNamespace("wait", state, `cpe/${sleeper}`, "--timeout=60s"));
    await wait("--for=jsonpath={.status.state}=idle");
    await wait("--for=condition=Ready");
    await story.kubectl(...inNamespace("get", "cpe"));
    return `${sleeper} is idle and Ready`;
  },
};

/** Deletes the resources, and shows that the control plane has only what it had before. */
export const remove: Step = {
  title: "Everything is deleted",
  async play(story) {
    await story.kubectl(...inNamespace("delete", "dba,cpe", "--all"));
    await story.events("EndpointDeleted", "RESOURCE:.involvedObject.name,REASON:.reason,MESSAGE:.message", 4);
    type Answer = { readonly endpoints: readonly { readonly id: string; readonly name?: string }[] };
    const answer = await story.curl<Answer>({ method: "GET", path: endpointsPath });
    story.terminal.quote(JSON.stringify(answer));
    const left = answer.endpoints.filter(({ name }) => name?.includes("-k8s-"));
    if (left.length > 0) throw new Error("the sandbox still has endpoints that the operator created");
    const [{ id } = { id: "none" }] = answer.endpoints;
    return `the four endpoints are gone; ${id}, which the project had before, is still there`;
  },
};
