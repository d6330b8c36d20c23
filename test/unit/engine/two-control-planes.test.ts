/**
 * Tests two control planes with one URL. If a resource of one owns an endpoint, it is not adopted or deleted through
 * the other. A change is not sent to a former URL.
 */

import { expect, it } from "vitest";
import type { ControlPlane } from "../../../src/domain/control-plane.ts";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import type { ObservedEndpoint } from "../../../src/domain/endpoint.ts";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import { EndpointKind } from "../../../src/kinds/endpoint/endpoint-kind.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeEngine } from "../../support/fakes/fake-engine.ts";
import { FakeResourceStore } from "../../support/fakes/fake-resource-store.ts";
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
} from "../kinds/endpoint/builders.ts";

const controlPlane = "ControlPlane/shop/north";
/**
 * Makes a resource of another control plane that created the endpoint.
 * @param serviceUrl the URL in its record; `undefined`: its status was lost
 */
const madeElsewhere = (serviceUrl: string | undefined) =>
  resource({
    key: { namespace: "shop", name: "billing" },
    uid: otherUid,
    spec: { controlPlaneRef: { kind: "ControlPlane", name: "north" } },
    status:
      serviceUrl === undefined ? {} : { ownership: ownership({ resourceUid: otherUid, serviceUrl, controlPlane }) },
  });

/** The control plane of the settings, with one endpoint, or another one in its place. It refuses each change. */
class UnitScene {
  readonly store = new FakeResourceStore();
  /** Changes that were sent. */
  readonly sent: string[] = [];
  readonly engine: FakeEngine;

  constructor(shown: readonly ObservedEndpoint[] = [endpoint({ name: otherName })], made?: ObservedEndpoint) {
    const refuse = (what: string) => async () => {
      this.sent.push(what);
      throw new ControlPlaneError("Unreachable", "the test changes nothing", { effect: "NotApplied" });
    };
    const create = async () => {
      this.sent.push("create");
      return { endpoint: made, operations: [] };
    };
    const controlPlane = {
      serviceUrl: identity.serviceUrl,
      listEndpoints: async () => ({ endpoints: shown, unreadableIds: [] }),
      getEndpoint: async () => shown[0],
      listOperations: async () => ({ operations: [], unreadableIds: [], cursor: undefined }),
      createEndpoint: made ? create : refuse("create"),
      updateEndpoint: refuse("update"),
    } as unknown as ControlPlane;
    const kinds = [new EndpointKind(this.store)];
    this.engine = new FakeEngine({ kinds, controlPlane, identity, policy, clock: new FakeClock(nowMs) });
  }
}

/** Runs one reconcile of the settings' project, by an operator that has not listed any ControlPlane yet. */
async function reconcileOnce(recordedUrl: string | undefined) {
  const scene = new UnitScene();
  scene.store.put(madeElsewhere(recordedUrl));
  const adoption = { policy: "AdoptOnly", endpointId: "ep-own-1", takeOver: true } as const;
  const { key } = scene.store.put(resource({ spec: { adoption } }));
  await scene.engine.reconcile(project);
  return scene.store.get(key);
}

it.each([
  [
    "the record has the same URL → the endpoint is claimed, although no ControlPlane is listed yet",
    identity.serviceUrl,
  ],
  ["the status was lost, and the endpoint carries the token of the resource → it is claimed", undefined],
])("%s", async (_, recordedUrl) => {
  const { status } = (await reconcileOnce(recordedUrl)) ?? {};
  expect(conditionOf(status?.conditions, "Stalled")?.reason).toBe("ClaimedByAnother");
  expect(status?.ownership).toBeUndefined();
});

it("the record has another URL → it is the id of another endpoint, and claims nothing here", async () => {
  const { status } = (await reconcileOnce("https://another.example/api/v2")) ?? {};
  expect(status?.ownership?.endpointId).toBe("ep-own-1");
});

it.each([
  ["stays as it is → the change is sent", 1],
  ["gets another URL → nothing is sent", 0],
])("while a change waits, the control plane %s", async (_, times) => {
  const scene = new UnitScene();
  scene.store.put(resource({ status: { ownership: ownership() }, spec: { suspend: { mode: "Never" } } }));
  scene.engine.caller = {
    reserve: async () => {
      if (times === 0) scene.engine.replaceAccess();
    },
  };
  await scene.engine.reconcile(project);
  expect(scene.sent).toEqual(Array(times).fill("update"));
});

it.each([
  ["stays as it is → the create is sent under its intent", 1],
  ["gets another URL → nothing is sent, and the intent is taken back", 0],
])("while the intent is stored, the control plane %s", async (_, times) => {
  const scene = new UnitScene([]);
  const { key } = scene.store.put(resource());
  scene.store.afterWrite = (write) => {
    if (write === "patchStatus" && times === 0) scene.engine.replaceAccess();
  };
  await scene.engine.reconcile(project);
  expect(scene.sent).toEqual(Array(times).fill("create"));
  const status = scene.store.get(key)?.status;
  expect(status?.createIntent === undefined).toBe(times === 0);
  expect(conditionOf(status?.conditions, "Stalled")?.status).not.toBe("True");
});

it("an answer could not be stored, then the status was lost, and no name is shown → the answer is recorded", async () => {
  const scene = new UnitScene([], endpoint());
  const { key } = scene.store.put(resource());
  scene.store.beforeWrite = (write) => {
    if (write === "patchStatus" && scene.sent.length > 0) throw new KubernetesError("Unavailable", "no");
  };
  await scene.engine.reconcile(project);
  expect(scene.store.get(key)?.status.createIntent).toBeDefined();
  scene.store.beforeWrite = () => {};
  scene.store.edit(key, () => ({ status: {} }));
  await scene.engine.reconcile(project);
  expect([scene.sent, scene.store.get(key)?.status.ownership?.endpointId]).toEqual([["create"], "ep-own-1"]);
});
