/** Tests how stored objects are parsed. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { noProject, parseComputeEndpoint, projectsOf } from "../../../src/resource/compute-endpoint.ts";
import { settlePromises } from "../../support/fake-clock.ts";

const metadata = {
  namespace: "shop",
  name: "orders",
  uid: "u1",
  resourceVersion: "7",
  managedFields: [{ manager: "x" }],
};

const bulk = "bulk".repeat(10_000);

/** An object of 200 KB, of which the operator needs a few hundred characters. */
function readBulky() {
  const stored: unknown = JSON.parse(
    JSON.stringify({
      apiVersion: "endpoint-operator.dev/v1alpha1",
      kind: "ComputeEndpoint",
      metadata: {
        ...metadata,
        managedFields: [{ manager: "kubectl", fieldsV1: { [bulk]: {} } }],
        annotations: {
          "kubectl.kubernetes.io/last-applied-configuration": bulk,
          "endpoint-operator.dev/paused": "true",
        },
        labels: { bulk },
        ownerReferences: [{ uid: bulk }],
        selfLink: bulk,
      },
      spec: { projectId: "p", branchId: "b", type: "ReadWrite", later: bulk },
      status: { host: "h" },
    }),
  );
  return { resource: parseComputeEndpoint(stored), raw: new WeakRef(stored as object) };
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

describe("a stored object", () => {
  it("without spec and status → is a resource with an invalid spec and an empty status, not an error", () => {
    const resource = parseComputeEndpoint({ metadata });
    expect(resource.spec.kind).toBe("Invalid");
    expect(resource.status).toEqual({});
    expect(resource.isOwnershipReadable).toBe(true);
  });

  it("with what we do not use → is kept without it", () => {
    const resource = parseComputeEndpoint({
      metadata: { ...metadata, annotations: { "example.com/x": "y", "endpoint-operator.dev/paused": "true" } },
      spec: { projectId: "p", branchId: "b", type: "ReadWrite", later: true },
      status: { host: "h", later: true },
    });
    expect(JSON.stringify(resource)).not.toMatch(/managedFields|example\.com|later/);
    expect(resource.annotations).toEqual({ "endpoint-operator.dev/paused": "true" });
    expect(resource.status).toEqual({ host: "h" });
  });

  it("as kubectl and others leave it → nothing but what is used is kept, and what it was read from can go", async () => {
    const { resource, raw } = readBulky();
    // A new weak reference keeps its object until the present turn of the event loop ends.
    await settlePromises();
    collectGarbage();
    expect(raw.deref() === undefined, "nothing of the answer is held").toBe(true);
    expect(JSON.stringify(resource)).not.toMatch(/bulk|last-applied|managedFields|ownerReferences|labels|selfLink/);
    expect(JSON.stringify(resource).length).toBeLessThan(400);
  });

  it("whose ownership cannot be read → says so", () => {
    const resource = parseComputeEndpoint({ metadata, status: { ownership: { endpointId: 5 }, host: "h" } });
    expect(resource.isOwnershipReadable).toBe(false);
    expect(resource.status.ownership).toBeUndefined();
  });

  it("one field of whose status cannot be read, as another version wrote it → the others stand", () => {
    const failedActions = [{ action: "start_compute", operationId: "op-1", time: "2026-11-20T08:00:00Z" }];
    const bookkeeping = { operationWatermark: { floorTime: "2026-11-20T08:00:00Z" } };
    const resource = parseComputeEndpoint({ metadata, status: { failedActions, bookkeeping, host: "h" } });
    expect(resource).toMatchObject({ isOwnershipReadable: true, status: { failedActions, host: "h" } });
    expect(resource.status.bookkeeping).toBeUndefined();
  });

  it("whose spec lost its project → has to do with the one that its records name; with each of them once", () => {
    const ownership = {
      endpointId: "e",
      projectId: "p",
      origin: "Created",
      resourceUid: "u1",
      clusterId: "c",
      serviceUrl: "s",
    };
    expect(projectsOf(parseComputeEndpoint({ metadata, spec: {}, status: { ownership } }))).toEqual(["p"]);
    const spec = { projectId: "p", branchId: "b", type: "ReadWrite" };
    expect(projectsOf(parseComputeEndpoint({ metadata, spec, status: { ownership } }))).toEqual(["p"]);
    const moved = { ...spec, projectId: "q" };
    expect(projectsOf(parseComputeEndpoint({ metadata, spec: moved, status: { ownership } }))).toEqual(["q", "p"]);
    expect(projectsOf(parseComputeEndpoint({ metadata }))).toEqual([noProject]);
  });

  it("of another kind → is refused; without a kind → is not", () => {
    expect(() => parseComputeEndpoint({ kind: "Service", metadata })).toThrow();
    expect(parseComputeEndpoint({ kind: "ComputeEndpoint", metadata }).uid).toBe("u1");
  });

  it("without identity → is refused", () => {
    for (const broken of [{}, null, { metadata: {} }, { metadata: { ...metadata, uid: 5 } }]) {
      expect(() => parseComputeEndpoint(broken)).toThrow();
    }
  });
});
