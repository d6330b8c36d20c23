/** Tests that the API server and the operator's schema refuse the same specs of control planes. */
import { describe, expect, test } from "vitest";
import { parseComputeEndpoint } from "../../src/resource/compute-endpoint.ts";
import { parseClusterControlPlane, parseControlPlane } from "../../src/resource/control-plane-resource.ts";
import { clusterControlPlaneNames, controlPlaneNames } from "../../src/resource/names.ts";
import { Admission, type AdmissionCases, apiVersion } from "../support/admission.ts";
import { adminKubectl } from "../support/api-server.ts";

const base = { url: "https://control-plane.example.com/api/v2", apiKeySecretRef: { name: "key", key: "api-key" } };
const withNamespace = { ...base, apiKeySecretRef: { namespace: "platform", name: "key", key: "api-key" } };
const grant = (namespaces: object, id = "green-fox-123456") => ({ ...withNamespace, projects: [{ id, namespaces }] });
const requirement = (operator: string, values?: readonly string[]) =>
  grant({ selector: { matchExpressions: [{ key: "team", operator, ...(values && { values }) }] } });

const ofNamespaces: AdmissionCases = {
  valid: [
    ["the least", base],
    ["an address with a port", { ...base, url: "http://127.0.0.1:8787/v2" }],
    ["an IPv6 address", { ...base, url: "http://[::1]:8787/api/v2" }],
    ["everything", { ...base, requestsPerMinute: 10, connection: { port: 1, sslMode: "verify-full" } }],
    ["a certificate authority", { ...base, connection: { caSecretRef: { name: "ca", key: "ca.crt" } } }],
  ],
  invalid: [
    ["no URL", { apiKeySecretRef: base.apiKeySecretRef }, /url/],
    ["another protocol", { ...base, url: "ftp://control-plane.example.com/v2" }, /http or https/],
    ["another path", { ...base, url: "https://control-plane.example.com/v3" }, /ends in \/v2/],
    ["a slash at the end", { ...base, url: `${base.url}/` }, /ends in \/v2/],
    ["a user", { ...base, url: "https://me@control-plane.example.com/v2" }, /without user/],
    ["a query", { ...base, url: `${base.url}?a=/v2` }, /query/],
    ["a port that there is not", { ...base, url: "https://example.com:70000/v2" }, /http or https/],
    ["a line end", { ...base, url: `${base.url}\n` }, /ends in \/v2/],
    ["no Secret", { url: base.url }, /apiKeySecretRef/],
    ["a Secret without a name", { ...base, apiKeySecretRef: { name: "", key: "k" } }, /name/],
    ["a Secret that leaves its path", { ...base, apiKeySecretRef: { name: "../a", key: "k" } }, /name/],
    ["too few requests", { ...base, requestsPerMinute: 9 }, /10/],
    ["port 0", { ...base, connection: { port: 0 } }, /port/],
    ["no encryption", { ...base, connection: { sslMode: "disable" } }, /verify-full/],
  ],
};

const ofClusters: AdmissionCases = {
  valid: [
    ["the least of the cluster", withNamespace],
    ["no project for anyone", { ...withNamespace, projects: [] }],
    ["a namespace by name", grant({ names: ["shop"] })],
    ["all projects by labels", grant({ selector: { matchLabels: { team: "shop" } } }, "*")],
    ["a list of values", requirement("In", ["a", "b"])],
    ["a label without a value", requirement("Exists")],
  ],
  invalid: [
    ["a Secret of the cluster without its namespace", base, /namespace/],
    ["neither names nor selector", grant({}), /exactly one/],
    ["names and selector", grant({ names: ["a"], selector: {} }), /exactly one/],
    ["a project with capitals", grant({ names: ["a"] }, "Green"), /id/],
    ["In without values", requirement("In"), /values are required/],
    ["Exists with values", requirement("Exists", ["a"]), /not allowed with Exists/],
    ["an unknown operator", requirement("Like", ["a"]), /DoesNotExist/],
  ],
};

const { kind, plural } = controlPlaneNames;
const admission = await Admission.open({ kind, plural, parse: parseControlPlane }, "admission");
const { namespace } = admission;
const ofCluster = { ...clusterControlPlaneNames, parse: parseClusterControlPlane, isOfCluster: true };

describe("ControlPlane", () => admission.defineTests(ofNamespaces));
describe("ClusterControlPlane", () => admission.of(ofCluster).defineTests(ofClusters));

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
