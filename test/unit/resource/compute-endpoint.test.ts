import { describe, expect, it } from "vitest";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";

const metadata = {
  namespace: "shop",
  name: "orders",
  uid: "u1",
  resourceVersion: "7",
  managedFields: [{ manager: "x" }],
};

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

  it("whose ownership cannot be read → says so", () => {
    const resource = parseComputeEndpoint({ metadata, status: { ownership: { endpointId: 5 }, host: "h" } });
    expect(resource.isOwnershipReadable).toBe(false);
    expect(resource.status.ownership).toBeUndefined();
  });

  it("without identity → is refused", () => {
    for (const broken of [{}, null, { metadata: {} }, { metadata: { ...metadata, uid: 5 } }]) {
      expect(() => parseComputeEndpoint(broken)).toThrow();
    }
  });
});
