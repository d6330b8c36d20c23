import { beforeEach, describe, expect, it } from "vitest";
import { KubernetesError, type KubernetesReason } from "../../../src/domain/resource-store.ts";
import type { Outcome } from "../../../src/plan/outcome.ts";
import type { Pass } from "../../../src/plan/pass.ts";
import type { Plan } from "../../../src/plan/plan.ts";
import { storeStatus } from "../../../src/reconcile/store-status.ts";
import { FakeResourceStore } from "../../support/fakes/fake-resource-store.ts";
import { endpoint, intent, intentMemory, observation, resource } from "../plan/builders.ts";

const { key } = resource();
const create: Plan = {
  kind: "CreateEndpoint",
  intent: intent(),
  creation: { branchId: "br-main-1", type: "ReadWrite", name: "n" },
  hash: "h",
};
const answered: Outcome = {
  kind: "Accepted",
  mutation: { endpoint: endpoint({ id: "ep-new-2" }), operations: [] },
};

let store: FakeResourceStore;
let attempts: number;

beforeEach(() => {
  store = new FakeResourceStore();
  store.put(resource({ status: { createIntent: intent() } }));
  attempts = 0;
});

function pass(plan: Plan, outcome: Outcome): Pass {
  const given = observation({ resource: store.get(key) ?? resource(), memory: intentMemory() });
  return { local: given, observation: given, plan, outcome };
}

/** Something happens to the resource just before each of the first few patches. */
function disturb(times: number, act: () => void): void {
  store.beforeWrite = () => {
    attempts += 1;
    if (attempts <= times) {
      act();
    }
  };
}

describe("the answer to a create", () => {
  it("meets a conflict → is stored on the resource as it then is", async () => {
    disturb(3, () => store.edit(key, ({ generation }) => ({ generation: generation + 1 })));
    const stored = await storeStatus(store, pass(create, answered));
    expect(stored).toMatchObject({ hasChanged: true, status: { ownership: { endpointId: "ep-new-2" } } });
    expect(store.get(key)?.status).toMatchObject({ ownership: { endpointId: "ep-new-2" }, observedGeneration: 4 });
    expect(store.get(key)?.status.createIntent).toBeUndefined();
  });

  it("meets conflicts without end → gives up, so that the pass is made again", async () => {
    disturb(99, () => store.edit(key, () => ({})));
    await expect(storeStatus(store, pass(create, answered))).rejects.toMatchObject({ reason: "Conflict" });
    expect(attempts).toBe(5);
  });

  it.each([
    ["gone", () => store.vanish(key)],
    [
      "another one",
      () => {
        store.vanish(key);
        store.put(resource({ uid: "uid-second" }));
      },
    ],
  ])("the resource is %s → nothing is stored", async (_state, act) => {
    disturb(1, act);
    expect(await storeStatus(store, pass(create, answered))).toBeUndefined();
    expect(store.get(key)?.status.ownership).toBeUndefined();
  });

  it.each<KubernetesReason>(["Unavailable", "TimedOut", "Forbidden"])(
    "%s → is not tried again here",
    async (reason) => {
      disturb(99, () => {
        throw new KubernetesError(reason, "no");
      });
      await expect(storeStatus(store, pass(create, answered))).rejects.toMatchObject({ reason });
      expect(attempts).toBe(1);
    },
  );
});

describe("any other status", () => {
  const wait: Plan = { kind: "Wait", reason: "CreateUnresolved", message: "m", requeueAfterMs: 1 };

  it("meets a conflict → the pass is made again", async () => {
    disturb(1, () => store.edit(key, () => ({})));
    await expect(storeStatus(store, pass(wait, { kind: "Done" }))).rejects.toMatchObject({ reason: "Conflict" });
    expect(attempts).toBe(1);
  });

  it("is the same as before → is not written", async () => {
    await storeStatus(store, pass(wait, { kind: "Done" }));
    const again = await storeStatus(store, pass(wait, { kind: "Done" }));
    expect(again?.hasChanged).toBe(false);
    expect(store.writes).toEqual(["patchStatus"]);
  });
});
