/** Tests that the API server and the operator's schema refuse the same specs of control planes. */
import { describe, expect, test } from "vitest";
import { parseComputeEndpoint } from "../../src/resource/compute-endpoint.ts";
import { parseClusterControlPlane, parseControlPlane } from "../../src/resource/control-plane-resource.ts";
import { adminKubectl, createTestNamespace } from "../support/api-server.ts";

const apiVersion = "endpoint-operator.dev/v1alpha1";
const base = { url: "https://control-plane.example.com/api/v2", apiKeySecretRef: { name: "key", key: "api-key" } };
const ofCluster = { ...base, apiKeySecretRef: { namespace: "platform", name: "key", key: "api-key" } };
const grant = (namespaces: object, id = "green-fox-123456") => ({ ...ofCluster, projects: [{ id, namespaces }] });
const requirement = (operator: string, values?: readonly string[]) =>
  grant({ selector: { matchExpressions: [{ key: "team", operator, ...(values && { values }) }] } });

type Case = readonly [what: string, kind: "ControlPlane" | "ClusterControlPlane", spec: object];

const valid: readonly Case[] = [
  ["the least", "ControlPlane", base],
  ["an address with a port", "ControlPlane", { ...base, url: "http://127.0.0.1:8787/v2" }],
  ["an IPv6 address", "ControlPlane", { ...base, url: "http://[::1]:8787/api/v2" }],
  ["everything", "ControlPlane", { ...base, requestsPerMinute: 10, connection: { port: 1, sslMode: "verify-full" } }],
  ["a certificate authority", "ControlPlane", { ...base, connection: { caSecretRef: { name: "ca", key: "ca.crt" } } }],
  ["the least of the cluster", "ClusterControlPlane", ofCluster],
  ["no project for anyone", "ClusterControlPlane", { ...ofCluster, projects: [] }],
  ["a namespace by name", "ClusterControlPlane", grant({ names: ["shop"] })],
  ["all projects by labels", "ClusterControlPlane", grant({ selector: { matchLabels: { team: "shop" } } }, "*")],
  ["a list of values", "ClusterControlPlane", requirement("In", ["a", "b"])],
  ["a label without a value", "ClusterControlPlane", requirement("Exists")],
];

const invalid: readonly (readonly [...Case, words: RegExp])[] = [
  ["no URL", "ControlPlane", { apiKeySecretRef: base.apiKeySecretRef }, /url/],
  ["another protocol", "ControlPlane", { ...base, url: "ftp://control-plane.example.com/v2" }, /http or https/],
  ["another path", "ControlPlane", { ...base, url: "https://control-plane.example.com/v3" }, /ends in \/v2/],
  ["a slash at the end", "ControlPlane", { ...base, url: `${base.url}/` }, /ends in \/v2/],
  ["a user", "ControlPlane", { ...base, url: "https://me@control-plane.example.com/v2" }, /without user/],
  ["a query", "ControlPlane", { ...base, url: `${base.url}?a=/v2` }, /query/],
  ["a port that there is not", "ControlPlane", { ...base, url: "https://example.com:70000/v2" }, /http or https/],
  ["a line end", "ControlPlane", { ...base, url: `${base.url}\n` }, /ends in \/v2/],
  ["no Secret", "ControlPlane", { url: base.url }, /apiKeySecretRef/],
  ["a Secret without a name", "ControlPlane", { ...base, apiKeySecretRef: { name: "", key: "k" } }, /name/],
  ["a Secret that leaves its path", "ControlPlane", { ...base, apiKeySecretRef: { name: "../a", key: "k" } }, /name/],
  ["too few requests", "ControlPlane", { ...base, requestsPerMinute: 9 }, /10/],
  ["port 0", "ControlPlane", { ...base, connection: { port: 0 } }, /port/],
  ["no encryption", "ControlPlane", { ...base, connection: { sslMode: "disable" } }, /verify-full/],
  ["a Secret of the cluster without its namespace", "ClusterControlPlane", base, /namespace/],
  ["neither names nor selector", "ClusterControlPlane", grant({}), /exactly one/],
  ["names and selector", "ClusterControlPlane", grant({ names: ["a"], selector: {} }), /exactly one/],
  ["a project with capitals", "ClusterControlPlane", grant({ names: ["a"] }, "Green"), /id/],
  ["In without values", "ClusterControlPlane", requirement("In"), /values are required/],
  ["Exists with values", "ClusterControlPlane", requirement("Exists", ["a"]), /not allowed with Exists/],
  ["an unknown operator", "ClusterControlPlane", requirement("Like", ["a"]), /DoesNotExist/],
];

const namespace = await createTestNamespace("admission");

async function judge(kind: Case[1], spec: object) {
  const metadata = { name: "tried", ...(kind === "ControlPlane" ? { namespace } : {}) };
  const stdin = JSON.stringify({ apiVersion, kind, metadata, spec });
  const { code, stderr } = await adminKubectl().tryRun(["create", "--dry-run=server", "-f", "-"], { stdin });
  const stored = { metadata: { ...metadata, uid: "u", resourceVersion: "1" }, spec };
  const parsed = kind === "ControlPlane" ? parseControlPlane(stored) : parseClusterControlPlane(stored);
  return { isAccepted: code === 0, problem: stderr, isReadable: parsed.spec.kind === "Valid" };
}

describe("accepted by both", () => {
  test.each(valid)("%s", async (_, kind, spec) => {
    expect(await judge(kind, spec)).toEqual({ isAccepted: true, problem: "", isReadable: true });
  });
});

describe("refused by both, with what would be right", () => {
  test.each(invalid)("%s", async (_, kind, spec, words) => {
    const { problem, ...rest } = await judge(kind, spec);
    expect(rest).toEqual({ isAccepted: false, isReadable: false });
    expect(problem).toMatch(words);
  });
});

test("controlPlaneRef of a ComputeEndpoint → cannot be set, changed or removed later", async () => {
  const spec = { projectId: "green-fox-123456", branchId: "br-quiet-sun-123456", type: "ReadWrite" };
  const apply = (name: string, controlPlaneRef?: object) => {
    const manifest = { apiVersion, kind: "ComputeEndpoint", metadata: { name, namespace } };
    const stdin = JSON.stringify({ ...manifest, spec: { ...spec, ...(controlPlaneRef && { controlPlaneRef }) } });
    return adminKubectl().tryRun(["apply", "-f", "-"], { stdin });
  };
  const north = { kind: "ClusterControlPlane", name: "north" };
  expect(await apply("orders", north)).toMatchObject({ code: 0 });
  expect(await apply("plain")).toMatchObject({ code: 0 });
  for (const [name, ref] of [
    ["orders", { ...north, name: "south" }],
    ["orders", { ...north, kind: "ControlPlane" }],
    ["orders", undefined],
    ["plain", north],
  ] as const) {
    expect((await apply(name, ref)).stderr).toContain("controlPlaneRef cannot be changed");
  }
  const metadata = { name: "orders", namespace, uid: "u", resourceVersion: "1" };
  expect(parseComputeEndpoint({ metadata, spec: { ...spec, controlPlaneRef: north } }).spec.kind).toBe("Valid");
});
