/** Tests the limits for ControlPlanes of namespaces. */
import { describe, expect, it } from "vitest";
import { isAllowedHost, type TenantLimits, withinLimits } from "../../../src/planes/tenant-limits.ts";
import { parseClusterControlPlane, parseControlPlane } from "../../../src/resource/control-plane-resource.ts";

const hostOf = (host: string) => new URL(`http://${host}/v2`).hostname;

describe("hosts", () => {
  it.each([
    ["127.0.0.1", undefined, false],
    ["2130706433", undefined, false],
    ["127.1:8080", undefined, false],
    ["0.0.0.0", undefined, false],
    ["169.254.169.254", undefined, false],
    ["LOCALHOST.", undefined, false],
    ["api.localhost", undefined, false],
    ["[::1]", undefined, false],
    ["[::]", undefined, false],
    ["[fe80::1]", undefined, false],
    ["[::ffff:127.0.0.1]", undefined, false],
    ["[::ffff:169.254.169.254]", undefined, false],
    ["[::ffff:10.0.0.1]", undefined, true],
    ["control.example", undefined, true],
    ["127.example", undefined, true],
    ["127.0.0.1", ["127.0.0.1"], true],
    ["control.example.", ["control.example"], true],
    ["other.example", ["control.example"], false],
    ["a.b.north.example", ["*.north.example"], true],
    ["north.example", ["*.north.example"], false],
    ["evilnorth.example", ["*.north.example"], false],
  ] as const)("%s with %j → %s", (host, hosts, want) => {
    expect(isAllowedHost(hostOf(host), hosts)).toBe(want);
  });
});

const limits: TenantLimits = {
  hosts: undefined,
  requestsPerMinute: 100,
  usualRequestsPerMinute: 700,
  planesPerNamespace: 2,
};
const metadata = { name: "own", namespace: "shop", uid: "u", resourceVersion: "1", generation: 1 };
const apiKeySecretRef = { namespace: "shop", name: "key", key: "api-key" };
const own = (url: string, requestsPerMinute?: number) =>
  parseControlPlane({ metadata, spec: { url, apiKeySecretRef, requestsPerMinute } });

it.each([
  [5_000, 100],
  [50, 50],
  [undefined, 100],
])("requestsPerMinute %s → %s", (given, want) => {
  expect(withinLimits(own("https://control.example/v2", given), limits, false).spec).toMatchObject({
    kind: "Valid",
    spec: { requestsPerMinute: want },
  });
});

it("a refused host, or one too many → the spec counts as invalid, and the text names the setting", () => {
  const near = withinLimits(own("http://127.0.0.1/v2"), limits, false);
  expect(near.spec).toMatchObject({ kind: "Invalid", problems: expect.stringContaining("TENANT_CONTROL_PLANE_HOSTS") });
  const surplus = withinLimits(own("https://control.example/v2"), limits, true);
  expect(surplus.spec).toMatchObject({
    kind: "Invalid",
    problems: expect.stringContaining("more than 2 ControlPlanes"),
  });
});

it("a ClusterControlPlane → no limit", () => {
  const spec = { url: "http://127.0.0.1/v2", apiKeySecretRef, requestsPerMinute: 5_000 };
  const plane = parseClusterControlPlane({ metadata: { ...metadata, namespace: undefined }, spec });
  expect(withinLimits(plane, limits, true)).toBe(plane);
});
