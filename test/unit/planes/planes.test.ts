/**
 * Tests the pure parts of control planes that resources describe: keys, grants, status, and the memory of the API key.
 */
import { describe, expect, it } from "vitest";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { type PlaneFacts, planeStatus } from "../../../src/planes/plane-status.ts";
import { SecretKey, type SecretsSnapshot } from "../../../src/planes/secret-key.ts";
import { parseComputeEndpoint, projectKeysOf, workKeyOf } from "../../../src/resource/compute-endpoint.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import {
  parseClusterControlPlane,
  parseControlPlane,
  parseProjectKey,
  planeIdOf,
  projectKey,
  secretPlace,
} from "../../../src/resource/control-plane-resource.ts";
import { checkConditions } from "../../support/check-conditions.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const url = "https://control-plane.example.com/api/v2";

const cluster = (projects?: object) =>
  parseClusterControlPlane({
    metadata: { name: "north", uid: "u-1", resourceVersion: "1", generation: 1 },
    spec: { url, apiKeySecretRef: { namespace: "platform", name: "key", key: "api-key" }, projects },
  });

const own = parseControlPlane({
  metadata: { name: "own", namespace: "shop", uid: "u-2", resourceVersion: "1", generation: 1 },
  spec: { url, apiKeySecretRef: { name: "key", key: "api-key", namespace: "elsewhere" } },
});

describe("keys of projects", () => {
  it.each([
    ["the settings", undefined, "p-1", "p-1"],
    ["a ControlPlane", { kind: "ControlPlane", name: "own" }, "p-1", "ControlPlane/shop/own/p-1"],
    ["a ClusterControlPlane", { kind: "ClusterControlPlane", name: "own" }, "p-1", "ClusterControlPlane/own/p-1"],
  ] as const)("%s → its own key, and back", (_, ref, projectId, key) => {
    const planeId = planeIdOf(ref, "shop");
    expect(projectKey(planeId, projectId)).toBe(key);
    expect(parseProjectKey(key)).toEqual({ planeId, projectId });
  });

  it("a reference that cannot be read → never the control plane of the settings", () => {
    const metadata = { namespace: "shop", name: "orders", uid: "u", resourceVersion: "1" };
    const spec = { projectId: "p-1", branchId: "b-1", type: "ReadWrite", controlPlaneRef: { kind: "Other" } };
    const resource = parseComputeEndpoint({ metadata, spec });
    expect(workKeyOf(resource)).toBe("unreadable/p-1");
    expect(projectKeysOf(resource)).toEqual(["unreadable/p-1"]);
  });
});

it("a ControlPlane that names a namespace for its Secret → the Secret of its own namespace all the same", () => {
  if (own.spec.kind !== "Valid") throw new Error("the spec is valid");
  expect(secretPlace(own, { namespace: "elsewhere", name: "key", key: "api-key" })).toEqual({
    namespace: "shop",
    name: "key",
  });
});

const read = (key: string) => ({ kind: "Read", key, authority: undefined }) as const;

describe("status of a control plane", () => {
  const usual: PlaneFacts = {
    ...{
      resource: cluster(),
      snapshot: read("k"),
      credentials: "Accepted",
      currentError: undefined,
      lastError: undefined,
    },
    ...{ users: 2, nowMs: 0 },
  };
  const outage = { reason: "TimedOut", message: "cannot list: no answer in time", atMs: 0 } as const;
  const deleted = { ...cluster(), deletionTimestamp: "2026-01-01T00:00:00Z" };
  it.each([
    ["accepted", {}, "True", "KeyAccepted"],
    ["not used yet", { credentials: undefined }, "True", "KeyNotUsedYet"],
    ["refused", { credentials: "Refused" }, "False", "Unauthorized"],
    ["not reachable", { currentError: outage, lastError: outage }, "False", "ServiceUnavailable"],
    ["not read", { snapshot: undefined }, "False", "SecretUnreadable"],
    ["no Secret", { snapshot: { kind: "Refused", reason: "SecretNotFound", message: "m" } }, "False", "SecretNotFound"],
    ["being deleted in use", { resource: deleted }, "True", "KeyAccepted"],
  ] as const)("%s → Ready %s %s", (_, change, ready, reason) => {
    const status = planeStatus({ ...usual, ...(change as Partial<PlaneFacts>) });
    expect(conditionOf(status.conditions, "Ready")).toMatchObject({ status: ready, reason });
    expect(status).toMatchObject({ resources: 2, observedGeneration: 1 });
    if (!("resource" in change)) expect(checkConditions(status, 1)).toEqual([]);
  });

  it("a deletion that waits → says for how many resources", () => {
    const waiting = planeStatus({ ...usual, resource: deleted });
    expect(conditionOf(waiting.conditions, "Reconciling")).toMatchObject({ reason: "InUse" });
    expect(conditionOf(waiting.conditions, "Reconciling")?.message).toContain("2 resources use");
  });

  it("the Secret is gone and its key still works → Ready says what happens at the next restart", () => {
    const status = planeStatus({ ...usual, snapshot: { ...read("k"), problem: "There is no Secret platform/key." } });
    expect(conditionOf(status.conditions, "Ready")).toMatchObject({
      status: "True",
      message: expect.stringMatching(
        /There is no Secret platform\/key\. The operator uses the last key until .*restarts/,
      ),
    });
  });
});

describe("the API key of a control plane", () => {
  const scene = () => {
    const clock = new FakeClock(0);
    const state = { snapshot: read("first") as SecretsSnapshot | undefined, reads: 0, changes: 0 };
    const key = new SecretKey({
      clock,
      read: async () => {
        state.reads += 1;
        return state.snapshot;
      },
      onChange: () => {
        state.changes += 1;
      },
      onKey: () => {},
    });
    return { clock, state, key };
  };

  it("calls within a minute → one read; after a minute the next one", async () => {
    const { clock, state, key } = scene();
    await Promise.all([key.current(), key.current()]);
    expect(await key.current()).toBe("first");
    expect(state.reads).toBe(1);
    await clock.advance(60_000);
    state.snapshot = read("second");
    expect(await key.current()).toBe("second");
    expect(state).toMatchObject({ reads: 2, changes: 2 });
  });

  it("refused → read at once, then every five seconds until there is another one", async () => {
    const { clock, state, key } = scene();
    await key.current();
    key.refused("first");
    await key.current();
    await key.current();
    expect(state.reads).toBe(2);
    await clock.advance(5_000);
    state.snapshot = read("second");
    expect(await key.current()).toBe("second");
    expect(state.reads).toBe(3);
  });

  it("a refusal of a former key → nothing is read", async () => {
    const { state, key } = scene();
    await key.current();
    key.refused("older");
    await key.current();
    expect(state.reads).toBe(1);
  });

  it("no answer, no Secret, no right → the last key is used until it is refused, then no call is sent", async () => {
    const { clock, state, key } = scene();
    await key.current();
    state.snapshot = { kind: "Unanswered", message: "cannot read Secret" };
    await clock.advance(60_000);
    expect(await key.current()).toBe("first");
    state.snapshot = { kind: "Refused", reason: "SecretNotFound", message: "There is no Secret platform/key." };
    await clock.advance(60_000);
    expect(await key.current()).toBe("first");
    expect(key.known).toMatchObject({ kind: "Read", problem: "There is no Secret platform/key." });
    expect(state.changes).toBe(1);
    key.refused("first");
    const error = await key.current().catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(ControlPlaneError);
    expect(error).toMatchObject({ reason: "Unauthorized", effect: "NotApplied" });
    expect(String(error)).not.toContain("platform");
  });

  it("a Secret that comes later → read within five seconds of a call", async () => {
    const { clock, state, key } = scene();
    state.snapshot = { kind: "Refused", reason: "SecretNotFound", message: "There is no Secret platform/key." };
    await expect(key.current()).rejects.toThrow("no usable API key");
    state.snapshot = read("first");
    await clock.advance(5_000);
    expect(await key.current()).toBe("first");
  });
});
