/** Tests that the number of writes to the API server at the same time has a limit: each one needs a connection. */
import { expect, it } from "vitest";
import type { ControlPlane } from "../../../src/domain/control-plane.ts";
import { ProjectOperations } from "../../../src/operations/reader.ts";
import { Projects } from "../../../src/reconcile/project-memory.ts";
import { ProjectReconciler } from "../../../src/reconcile/project-reconciler.ts";
import type { ComputeEndpointStatus } from "../../../src/resource/status-schema.ts";
import { WorkQueue } from "../../../src/runtime/work-queue.ts";
import { WorkerPool } from "../../../src/runtime/worker-pool.ts";
import { FakeClock, settlePromises } from "../../support/fake-clock.ts";
import { FakeResourceStore } from "../../support/fakes/fake-resource-store.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { settingsUnit } from "../../support/settings-unit.ts";
import { endpoint, identity, nowMs, ownership, policy, resource } from "../decide/builders.ts";

const workers = 2;
const owners = ["a", "b", "c"];

/** Makes a control plane that shows the endpoints of three resources of each project. A change waits for ever. */
function slowControlPlane() {
  const reserved = {
    listEndpoints: async (projectId: string) => ({
      endpoints: owners.map((name) => endpoint({ id: `ep-${name}`, projectId, branchId: `br-${name}` })),
      unreadableIds: [],
    }),
    listOperations: async () => ({ operations: [], unreadableIds: [], cursor: undefined }),
  } as unknown as ControlPlane;
  const reserve = () => new Promise<void>(() => {});
  const rest = { pollsPerMinute: 1_000, makeUrgent() {}, stopWaiting() {} };
  return {
    identity,
    forCaller: () => ({ controlPlane: reserved, reserve, reserved, keyMark: async () => "key" }),
    ...rest,
  };
}

/** Makes resources of a project: one whose endpoint is not created yet, and three whose status is out of date. */
function resourcesOf(projectId: string) {
  const made = (name: string, status: ComputeEndpointStatus) => {
    const uid = `${projectId}-${name}`;
    return resource({
      key: { namespace: "shop", name: uid },
      uid,
      status,
      spec: { projectId, branchId: `br-${name}` },
    });
  };
  const owned = owners.map((name) => {
    const resourceUid = `${projectId}-${name}`;
    return made(name, { ownership: ownership({ endpointId: `ep-${name}`, resourceUid, projectId }) });
  });
  return [made("new", {}), ...owned];
}

function startProjects(projectIds: readonly string[]) {
  const clock = new FakeClock(nowMs);
  const store = new FakeResourceStore();
  for (const each of projectIds.flatMap(resourcesOf)) {
    store.put(each);
  }
  const projects = new Projects({ clock, operationsOf: () => new ProjectOperations({ clock }) });
  const access = slowControlPlane();
  const unitOf = () => settingsUnit(access, projects);
  const reconciler = new ProjectReconciler({
    ...{ clock, store, policy, projectPollMs: 60_000, random: () => 0, logger: quietLogger, unitOf },
    events: { record: () => {} },
    metrics: { countEnded: () => {}, logCutShort: () => {}, forgetResource: () => {} },
  });
  const queue = new WorkQueue({ clock });
  const work = reconciler.reconcile.bind(reconciler);
  new WorkerPool({ clock, queue, workers, work, onError: (_, error) => expect.fail(String(error)) }).start();
  for (const projectId of projectIds) {
    queue.add(projectId);
  }
  return { store, clock };
}

it("the changes of many projects wait → each worker stores other resources of one project, two at a time", async () => {
  const projectIds = Array.from({ length: 10 }, (_, index) => `project-${index}`);
  const { store, clock } = startProjects(projectIds);
  let atOnce = 0;
  let mostAtOnce = 0;
  store.beforeWrite = async () => {
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    await new Promise<void>((resolve) => clock.after(10, resolve));
    atOnce -= 1;
  };
  await settlePromises();
  await clock.advance(1_000);
  expect(store.writes).toHaveLength(projectIds.length * owners.length);
  expect(mostAtOnce).toBe(workers * 2);
});
