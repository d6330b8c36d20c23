/** Tests the store on a real API server. */
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ClosableFence } from "../../src/domain/leader-fence.ts";
import type { Logger } from "../../src/domain/logger.ts";
import type { ResourceKey } from "../../src/domain/resource-store.ts";
import { createConnection, type KubernetesConnection } from "../../src/kubernetes/http/connection.ts";
import { loadCredentialSource } from "../../src/kubernetes/http/credentials.ts";
import { KindWatch } from "../../src/kubernetes/kind-watch.ts";
import { computeEndpointKind } from "../../src/kubernetes/store/resource-kinds.ts";
import type { ComputeEndpoint } from "../../src/resource/compute-endpoint.ts";
import { finalizer } from "../../src/resource/names.ts";
import type { ComputeEndpointStatus } from "../../src/resource/status-schema.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";
import { adminKubectl, createTestNamespace, readAuditEvents, sharedApiServer } from "../support/api-server.ts";

const quietLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const userAgent = "endpoint-operator-store-test";

function connect(): KubernetesConnection {
  const load = () => {
    const config = new KubeConfig();
    config.loadFromFile(sharedApiServer().kubeconfigFile);
    return config;
  };
  return createConnection({ credentials: loadCredentialSource(load), clock: systemClock, userAgent });
}

function manifest(key: ResourceKey, spec: object = {}): string {
  return JSON.stringify({
    apiVersion: "endpoint-operator.dev/v1alpha1",
    kind: "ComputeEndpoint",
    metadata: { ...key, annotations: { "example.com/foreign": "not kept" } },
    spec: { projectId: "green-fox-1", branchId: "br-quiet-sun-1", type: "ReadWrite", ...spec },
  });
}

describe("the store on a real API server", () => {
  let namespace: string;
  let connection: KubernetesConnection;
  let watch: KindWatch<ComputeEndpoint, ComputeEndpointStatus>;
  const fence = new ClosableFence();
  const changes: string[] = [];

  beforeAll(async () => {
    namespace = await createTestNamespace("store");
    connection = connect();
    watch = new KindWatch(computeEndpointKind, {
      connection,
      namespaces: [namespace],
      onChange: (key) => void changes.push(key.name),
      fence,
      clock: systemClock,
      logger: quietLogger,
    });
    await applyResource("before-start");
    watch.start();
    await vi.waitFor(() => expect(watch.stats()).toMatchObject({ hasSynced: true, isWatching: true }), {
      timeout: 60_000,
    });
  });

  afterAll(async () => {
    await watch.stop();
    await connection.close();
  });

  const keyOf = (name: string): ResourceKey => ({ namespace, name });
  const applyResource = (name: string, spec: object = {}) =>
    adminKubectl().run(["apply", "-f", "-"], { stdin: manifest(keyOf(name), spec) });
  const cached = (name: string) => watch.store.get(keyOf(name));
  const patchByHand = (name: string, patch: object) =>
    adminKubectl().run(["patch", "cpe", name, "-n", namespace, "--type=merge", "-p", JSON.stringify(patch)]);

  async function createResource(name: string, spec: object = {}): Promise<ComputeEndpoint> {
    await applyResource(name, spec);
    return await vi.waitFor(
      () => {
        const resource = cached(name);
        if (resource === undefined) throw new Error(`${name} did not reach the cache`);
        return resource;
      },
      { timeout: 60_000 },
    );
  }

  it("a resource from before the start → is listed, with the status of one that no operator has looked at", () => {
    expect(changes).toContain("before-start");
    expect(cached("before-start")).toMatchObject({
      key: keyOf("before-start"),
      annotations: {},
      spec: { kind: "Valid", spec: { projectId: "green-fox-1" } },
      status: { observedGeneration: -1 },
    });
    expect(watch.store.withIndex("green-fox-1").map((resource) => resource.key.name)).toContain("before-start");
  });

  it("created, edited, deleted by kubectl → the cache follows and reports the key", async () => {
    const first = await createResource("followed", { deletionPolicy: "Retain" });
    await patchByHand("followed", { spec: { branchId: "br-2" } });
    await vi.waitFor(() => expect(cached("followed")?.generation).toBe(first.generation + 1), { timeout: 60_000 });
    await adminKubectl().run(["delete", "cpe", "followed", "-n", namespace]);
    await vi.waitFor(() => expect(cached("followed")).toBeUndefined(), { timeout: 60_000 });
    expect(changes.filter((change) => change === "followed").length).toBeGreaterThanOrEqual(3);
  });

  it("finalizer added and removed → others stay, and the cache knows before the answer", async () => {
    await createResource("finalized");
    await patchByHand("finalized", { metadata: { finalizers: ["example.com/other"] } });
    await vi.waitFor(() => expect(cached("finalized")?.finalizers).toEqual(["example.com/other"]), { timeout: 60_000 });
    const held = await watch.store.addFinalizer(cached("finalized") as ComputeEndpoint);
    expect(held.finalizers).toEqual(["example.com/other", finalizer]);
    expect(cached("finalized")).toEqual(held);
    expect(await watch.store.addFinalizer(held), "already there: no request").toBe(held);
    await adminKubectl().run(["delete", "cpe", "finalized", "-n", namespace, "--wait=false"]);
    const deleting = await vi.waitFor(
      () => {
        const resource = cached("finalized") as ComputeEndpoint;
        expect(resource.deletionTimestamp).toBeTypeOf("string");
        return resource;
      },
      { timeout: 60_000 },
    );
    const released = await watch.store.removeFinalizer(deleting);
    expect(released?.finalizers).toEqual(["example.com/other"]);
    await patchByHand("finalized", { metadata: { finalizers: [] } });
    await vi.waitFor(() => expect(cached("finalized")).toBeUndefined(), { timeout: 60_000 });
  });

  it("status patched → only what differs is sent, what is gone goes, an equal one costs no request", async () => {
    const fresh = await createResource("shown");
    const operations = [
      {
        id: "o1",
        action: "start_compute",
        status: "running",
        cause: "SpecChange" as const,
        createdTime: "t",
        updatedTime: "t",
      },
    ];
    const first = await watch.store.patchStatus(fresh, { observedGeneration: 1, host: "h", state: "init", operations });
    expect(first.status).toEqual({ observedGeneration: 1, host: "h", state: "init", operations });
    const second = await watch.store.patchStatus(first, { observedGeneration: 1, state: "active", host: undefined });
    expect(second.status).toEqual({ observedGeneration: 1, state: "active" });
    expect(cached("shown")).toEqual(second);
    const same = await watch.store.patchStatus(second, { state: "active", observedGeneration: 1 });
    expect(same).toBe(second);
    expect(second.generation, "a status patch is no edit").toBe(fresh.generation);
    const patches = await readAuditEvents(
      (event) => event.verb === "patch" && event.objectRef?.name === "shown" && event.userAgent === userAgent,
    );
    expect(patches.filter((event) => event.objectRef?.subresource === "status")).toHaveLength(2);
  });

  it("a write on an older version → Conflict, and nothing is written", async () => {
    const old = await createResource("raced");
    await patchByHand("raced", { metadata: { labels: { changed: "true" } } });
    await expect(watch.store.patchStatus(old, { state: "mine" })).rejects.toMatchObject({ reason: "Conflict" });
    await expect(watch.store.addFinalizer(old)).rejects.toMatchObject({ reason: "Conflict" });
    expect((await watch.store.read(old.key))?.status).toEqual({ observedGeneration: -1 });
  });

  it("a write on another object of the same name → Conflict", async () => {
    const old = await createResource("reborn");
    await adminKubectl().run(["delete", "cpe", "reborn", "-n", namespace]);
    await vi.waitFor(() => expect(cached("reborn")).toBeUndefined(), { timeout: 60_000 });
    const next = await createResource("reborn");
    expect(next.uid).not.toBe(old.uid);
    await expect(watch.store.addFinalizer(old)).rejects.toMatchObject({ reason: "Conflict" });
    const mixed = { ...next, uid: old.uid };
    await expect(watch.store.addFinalizer(mixed), "uid alone").rejects.toMatchObject({ reason: "Conflict" });
  });

  it("a status the schema refuses → WriteRefused, with the field in one line", async () => {
    const resource = await createResource("refused");
    const bad = { observedGeneration: "one" } as unknown as { observedGeneration: number };
    const error = await watch.store.patchStatus(resource, bad).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ reason: "WriteRefused" });
    expect((error as Error).message).toMatch(
      /^cannot patch status of ComputeEndpoint [^\n]*status\.observedGeneration[^\n]*$/,
    );
  });

  it("many small pages, all namespaces → the cache is complete", async () => {
    const names = Array.from({ length: 7 }, (_, index) => `page-${index}`);
    await Promise.all(names.map((name) => applyResource(name)));
    const paged = new KindWatch(computeEndpointKind, {
      connection,
      namespaces: [],
      onChange() {},
      fence,
      clock: systemClock,
      logger: quietLogger,
      timing: { pageLimit: 2 },
    });
    paged.start();
    await vi.waitFor(() => expect(paged.hasSynced()).toBe(true), { timeout: 60_000 });
    const inNamespace = paged.store.list().filter((resource) => resource.key.namespace === namespace);
    expect(inNamespace.map((resource) => resource.key.name)).toEqual(expect.arrayContaining(names));
    await paged.stop();
  });
});
