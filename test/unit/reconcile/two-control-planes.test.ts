/** Two control planes with one URL: an endpoint that a resource of one owns is not adopted or deleted through the other. */
import { expect, it } from "vitest";
import { fullGrant } from "../../../src/decide/project-grant.ts";
import type { ControlPlane } from "../../../src/domain/control-plane.ts";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { ProjectOperations } from "../../../src/operations/reader.ts";
import type { ControlPlaneUnit } from "../../../src/reconcile/control-plane-access.ts";
import { ProjectReconciler } from "../../../src/reconcile/project-reconciler.ts";
import { Projects } from "../../../src/reconcile/projects.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeResourceStore } from "../../support/fakes/fake-resource-store.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import {
  endpoint,
  identity,
  nowMs,
  otherName,
  otherUid,
  ownership,
  policy,
  project,
  resource,
} from "../decide/builders.ts";

const ownedElsewhere = (recordedUrl: string) =>
  resource({
    ...{ key: { namespace: "shop", name: "billing" }, uid: otherUid },
    spec: { controlPlaneRef: { kind: "ControlPlane", name: "north" } },
    status: {
      ownership: ownership({ resourceUid: otherUid, serviceUrl: recordedUrl, controlPlane: "ControlPlane/shop/north" }),
    },
  });

/** One reconcile of the settings' project, by an operator that has listed no ControlPlane yet. */
async function reconcileOnce(recordedUrl: string) {
  const clock = new FakeClock(nowMs);
  const store = new FakeResourceStore();
  store.put(ownedElsewhere(recordedUrl));
  const adoption = { policy: "AdoptOnly", endpointId: "ep-own-1", takeOver: true } as const;
  const { key } = store.put(resource({ spec: { adoption } }));
  const refused = async () => {
    throw new ControlPlaneError("Unreachable", "the test changes nothing", { effect: "NotApplied" });
  };
  const controlPlane = {
    serviceUrl: identity.serviceUrl,
    listEndpoints: async () => ({
      endpoints: [endpoint({ name: otherName })],
      unreadableIds: [],
      serviceTimeMs: nowMs,
    }),
    getEndpoint: async () => endpoint({ name: otherName }),
    listOperations: async () => ({ operations: [], unreadableIds: [], nextCursor: undefined }),
    ...{ createEndpoint: refused, updateEndpoint: refused, deleteEndpoint: refused, changePower: refused },
  } as unknown as ControlPlane;
  const projects = new Projects({ clock, operationsOf: () => new ProjectOperations({ clock }) });
  const unitOf = (id: string): ControlPlaneUnit => ({
    ...{ id, projects, grantOf: () => fullGrant, problem: undefined },
    access: {
      ...{ identity, forCaller: () => controlPlane, reserve: async () => {}, reserved: controlPlane },
      pollsPerMinute: 1_000,
    },
  });
  const reconciler = new ProjectReconciler({
    ...{ clock, store, policy, projectPollMs: 60_000, random: () => 0, logger: quietLogger, unitOf },
    events: { record: () => {} },
    metrics: { countEnded: () => {}, logCutShort: () => {}, forgetResource: () => {} },
  });
  await reconciler.reconcile(project, { whileWaiting: (wait) => wait() });
  return store.get(key);
}

it("the record has the same URL → the endpoint is claimed, although no ControlPlane is listed yet", async () => {
  const { status } = (await reconcileOnce(identity.serviceUrl)) ?? {};
  expect(conditionOf(status?.conditions, "Stalled")?.reason).toBe("ClaimedByAnother");
  expect(status?.ownership).toBeUndefined();
});

it("the record has another URL → it is the id of another endpoint, and claims nothing here", async () => {
  const { status } = (await reconcileOnce("https://another.example/api/v2")) ?? {};
  expect(status?.ownership?.endpointId).toBe("ep-own-1");
});
