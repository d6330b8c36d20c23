/** Tests the hosts that ControlPlanes of namespaces may name. */
import { describe, expect, it } from "vitest";
import { isAllowedHost, withAllowedHost } from "../../../src/planes/plane-source.ts";
import { parseControlPlane } from "../../../src/resource/control-plane-resource.ts";

const hostOf = (host: string) => new URL(`http://${host}/v2`).hostname;

describe("hosts", () => {
  it.each([
    ["127.0.0.1", undefined, false],
    ["2130706433", undefined, false],
    ["169.254.169.254", undefined, false],
    ["LOCALHOST.", undefined, false],
    ["[::1]", undefined, false],
    ["[fe80::1]", undefined, false],
    ["[::ffff:127.0.0.1]", undefined, false],
    ["[::ffff:10.0.0.1]", undefined, true],
    ["[::127.0.0.1]", undefined, false],
    ["[64:ff9b::127.0.0.1]", undefined, false],
    ["[64:ff9b::10.0.0.1]", undefined, true],
    ["[2001:db8::127.0.0.1]", undefined, true],
    ["100.100.100.200", undefined, false],
    ["168.63.129.16", undefined, false],
    ["[fd00:ec2::254]", undefined, false],
    ["[fd00:ec2::253]", undefined, true],
    ["[fd20:ce::254]", undefined, false],
    ["metadata.google.internal.", undefined, false],
    ["control.example", undefined, true],
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

const metadata = { name: "own", namespace: "shop", uid: "u", resourceVersion: "1", generation: 1 };
const spec = { url: "http://127.0.0.1/v2", apiKeySecretRef: { namespace: "shop", name: "key", key: "api-key" } };

it("a refused host → the spec counts as invalid, and the text names the setting", () => {
  expect(withAllowedHost(parseControlPlane({ metadata, spec }), undefined).spec).toMatchObject({
    kind: "Invalid",
    problems: expect.stringContaining("TENANT_CONTROL_PLANE_HOSTS"),
  });
});
