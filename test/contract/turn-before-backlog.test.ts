import { expect, onTestFinished, test } from "vitest";
import { computeEndpointPath } from "../../src/kubernetes/paths.ts";
import { annotations, finalizer } from "../../src/resource/names.ts";
import { FakeClock, settlePromises } from "../support/fake-clock.ts";
import { assembleOverFake } from "../support/fakes/assemble-over-fake.ts";
import { FakeKubernetes } from "../support/fakes/fake-kubernetes.ts";
import { waitUntil } from "../support/wait-until.ts";
import { json, startRawService } from "./control-plane/raw-service.ts";

/*
 * The parts of the operator with one worker, on simulated time: what is worked on next when a turn in a project comes.
 */

const clock = new FakeClock();
const time = new Date(clock.nowMs()).toISOString();
const projectId = "green-fox-123456";
const endpoint = {
  ...{ id: "ep-one-1", project_id: projectId, branch_id: "br-one-1", type: "read_write", host: "h.example" },
  ...{ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1, current_state: "active", pooler_mode: "transaction" },
  ...{ pooler_enabled: false, disabled: false, suspend_timeout_seconds: 0, created_at: time, updated_at: time },
};
const operation = {
  ...{ id: "op-1", project_id: projectId, endpoint_id: endpoint.id, action: "apply_config" },
  ...{ created_at: time, updated_at: time },
};

/** A service with one endpoint, of which each update starts the same operation and takes a moment. */
async function startService() {
  const service = await startRawService();
  let shown = endpoint;
  let operations: readonly object[] = [];
  service.answerWith(async (response, { method, url, ...request }) => {
    const answer = (body: object) => json(200, body)(response, { method, url, ...request });
    if (method === "PATCH") {
      await clock.advance(1);
      shown = { ...endpoint, suspend_timeout_seconds: 600 };
      operations = [{ ...operation, status: "running" }];
      return answer({ endpoint: shown, operations });
    }
    return answer(url.includes("/operations") ? { operations } : { endpoints: [shown] });
  });
  onTestFinished(() => service[Symbol.asyncDispose]());
  return {
    url: service.url,
    endOperation() {
      operations = [{ ...operation, status: "finished" }];
    },
  };
}

const keyOf = (name: string) => ({ namespace: "shop", name });
const changing = keyOf("changing");
const waiting = keyOf("waiting");
const backlog = ["db-0", "db-1", "db-2"].map(keyOf);

/** One that has something to change, one that has something to create after that, and some that say that they are paused. */
function fullCluster(serviceUrl: string): FakeKubernetes {
  const kubernetes = new FakeKubernetes();
  const spec = { projectId, type: "ReadWrite" };
  const ownership = {
    ...{ endpointId: endpoint.id, origin: "Created", resourceUid: `uid-shop-${changing.name}` },
    ...{ clusterId: "cluster", serviceUrl, projectId },
  };
  const metadata = { finalizers: [finalizer] };
  const suspend = { mode: "After", afterSeconds: 600 };
  kubernetes.put(changing, {
    metadata,
    spec: { ...spec, branchId: endpoint.branch_id, suspend },
    status: { ownership },
  });
  kubernetes.put(waiting, { metadata, spec: { ...spec, branchId: "br-two-2" } });
  for (const key of backlog) {
    const paused = { ...metadata, annotations: { [annotations.paused]: "true" } };
    kubernetes.put(key, { metadata: paused, spec: { ...spec, branchId: "br-quiet-3" } });
  }
  return kubernetes;
}

test("a backlog, and the turn of one who waits for another comes → it is next", async () => {
  const service = await startService();
  const kubernetes = fullCluster(service.url);
  kubernetes.holdsPatches = true;
  const parts = assembleOverFake({ kubernetes, clock, serviceUrl: service.url });
  parts.start();
  const patched = async (count: number) => {
    await waitUntil(() => kubernetes.patches[count - 1], { what: `patch ${count} is sent` });
    await clock.advance(1);
  };
  const letGo = () => kubernetes.patches.at(-1)?.letGo();
  await patched(1);
  letGo();
  // The first of the backlog is at work: whoever waits has been turned away without a word, as its wait is young.
  await patched(2);
  service.endOperation();
  kubernetes.put(changing, {});
  await settlePromises();
  for (const count of [3, 4]) {
    letGo();
    await patched(count);
  }
  expect(kubernetes.patches.map(({ path }) => path)).toEqual(
    [changing, keyOf("db-0"), changing, waiting].map((key) => `${computeEndpointPath(key)}/status`),
  );
  const stopped = parts.stopWork(1_000);
  letGo();
  expect(await stopped, "the pass under way has ended").toBe(true);
  await parts.close();
});
