/** Tests that the API server and the operator's schema refuse the same specs. */
import { beforeAll, describe, expect, test } from "vitest";
import { parseComputeEndpoint } from "../../src/resource/compute-endpoint.ts";
import { kind, plural } from "../../src/resource/names.ts";
import { Admission, type AdmissionCases, apiVersion } from "../support/admission.ts";
import { adminKubectl } from "../support/api-server.ts";
import { waitUntil } from "../support/wait-until.ts";

const base = { projectId: "green-fox-123456", branchId: "br-quiet-sun-123456", type: "ReadWrite" } as const;
const replica = { ...base, type: "ReadOnly" } as const;

const nightly = { schedule: "0 3 * * 0", durationSeconds: 7200, timeZone: "Europe/Berlin" };
const office = {
  name: "office",
  schedule: "0 8 * * 1-5",
  durationSeconds: 36_000,
  compute: { minUnits: 1, maxUnits: 4 },
};

const invalid: AdmissionCases["invalid"] = [
  ["no spec", undefined, /spec/],
  ["no project", { branchId: base.branchId, type: "ReadWrite" }, /projectId.*[Rr]equired/],
  ["a project with capitals", { ...base, projectId: "Green-Fox" }, /projectId.*\^\[a-z0-9-\]/],
  ["a project that leaves its path", { ...base, projectId: "../other" }, /projectId/],
  ["an unknown field", { ...base, branch: "main" }, /unknown field "spec.branch"/],
  ["a branch by id and by name", { ...base, branchRef: { name: "pr-42" } }, /exactly one of branchId and branchRef/],
  ["no branch", { projectId: base.projectId, type: "ReadWrite" }, /exactly one of branchId and branchRef/],
  ["size 0.3", { ...base, compute: { minUnits: 0.3, maxUnits: 1 } }, /0\.25, 0\.5 or a whole number/],
  ["size 1.5", { ...base, compute: { minUnits: 1, maxUnits: 1.5 } }, /0\.25, 0\.5 or a whole number/],
  ["size 57", { ...base, compute: { minUnits: 1, maxUnits: 57 } }, /56/],
  ["a minimum over the maximum", { ...base, compute: { minUnits: 4, maxUnits: 2 } }, /minUnits must not be greater/],
  ["After without seconds", { ...base, suspend: { mode: "After" } }, /afterSeconds is required with mode After/],
  ["Never with seconds", { ...base, suspend: { mode: "Never", afterSeconds: 5 } }, /not allowed with any other mode/],
  ["suspend after 8 days", { ...base, suspend: { mode: "After", afterSeconds: 691_200 } }, /604800/],
  ["an unknown adoption policy", { ...base, adoption: { policy: "Always" } }, /AdoptOrCreate/],
  [
    "Never with an endpoint",
    { ...base, adoption: { policy: "Never", endpointId: "ep-a-1" } },
    /not allowed with policy Never/,
  ],
  [
    "a replica to adopt without its id",
    { ...replica, adoption: { policy: "AdoptOnly" } },
    /endpointId is required to adopt a ReadOnly/,
  ],
  ["InWindow without windows", { ...base, disruption: { when: "InWindow" } }, /windows is required with when InWindow/],
  ["a short window", { ...base, disruption: { windows: [{ ...nightly, durationSeconds: 899 }] } }, /900/],
  [
    "a cron expression of four fields",
    { ...base, disruption: { windows: [{ ...nightly, schedule: "0 3 * *" }] } },
    /schedule/,
  ],
  ["the zone Local", { ...base, disruption: { windows: [{ ...nightly, timeZone: "Local" }] } }, /timeZone must be/],
  [
    "a zone that does not exist",
    { ...base, disruption: { windows: [{ ...nightly, timeZone: "Mars/Olympus" }] } },
    /time ?zone/i,
  ],
  ["a forced end within a minute", { ...base, disruption: { forceAfterSeconds: 59 } }, /60/],
  ["a schedule whose size spec does not set", { ...base, schedules: [office] }, /must not set compute or suspend/],
  [
    "a size by a schedule with InWindow",
    { ...base, compute: office.compute, disruption: { when: "InWindow", windows: [nightly] }, schedules: [office] },
    /not allowed with disruption.when InWindow/,
  ],
  ["two schedules of one name", { ...base, compute: office.compute, schedules: [office, office] }, /[Dd]uplicate/],
  ["an unknown deletion policy", { ...base, deletionPolicy: "Orphan" }, /Retain/],
];

const valid: AdmissionCases["valid"] = [
  ["the least", base],
  ["a replica", replica],
  ["adoption of a replica", { ...replica, adoption: { policy: "AdoptOnly", endpointId: "ep-cool-dawn-123456" } }],
  ["nothing about disruption", { ...base, disruption: {} }],
  [
    "windows, approval, and an end by force",
    {
      ...base,
      disruption: { when: "InWindow", windows: [nightly], approval: "Required", forceAfterSeconds: 604_800 },
    },
  ],
  ["a schedule", { ...base, compute: { minUnits: 0.25, maxUnits: 2 }, schedules: [office] }],
  [
    "everything",
    {
      ...base,
      compute: { minUnits: 0.25, maxUnits: 2 },
      suspend: { mode: "After", afterSeconds: 604_800 },
      pooler: { enabled: true, mode: "Transaction" },
      settings: { pgSettings: { work_mem: "64MB" } },
      adoption: { policy: "AdoptOrCreate" },
      disabled: true,
      deletionPolicy: "Retain",
    },
  ],
];

const admission = await Admission.open({ kind, plural, parse: parseComputeEndpoint }, "admission");
const { namespace } = admission;

/** Returns every combination of the values at and near each bound. */
function edgeCases(): readonly object[] {
  const sizes = [-1, 0, 0.25, 0.26, 0.5, 0.75, 1, 1.5, 2, 55, 56, 57, "1", null];
  const compute = sizes.flatMap((minUnits) => sizes.map((maxUnits) => ({ compute: { minUnits, maxUnits } })));
  const suspend = ["After", "Never", "ServiceDefault", "Sometimes", null].flatMap((mode) =>
    [undefined, null, -1, 0, 1, 1.5, 604_800, 604_801, "5"].map((afterSeconds) => ({
      suspend: { mode, afterSeconds },
    })),
  );
  const adoption = ["Never", "AdoptOrCreate", "AdoptOnly", "Always"].flatMap((policy) =>
    [undefined, null, "", "ep-cool-dawn-123456", "Ep"].flatMap((endpointId) =>
      [undefined, null, true, false, "yes"].flatMap((takeOver) =>
        ["ReadWrite", "ReadOnly"].map((type) => ({ type, adoption: { policy, endpointId, takeOver } })),
      ),
    ),
  );
  const texts = ["-", "a_b", "a b", "a\n", "\u00e9", "\u{1f600}", "a".repeat(60), "a".repeat(61), 7, null];
  const identifiers = texts.flatMap((text) => [{ projectId: text }, { branchId: text }]);
  const smile = "\u{1f600}";
  const named = [128, 129].flatMap((length) => ["n", smile].map((letter) => ({ [letter.repeat(length)]: "on" })));
  const valued = [1024, 1025].flatMap((length) => ["v", smile].map((letter) => ({ name: letter.repeat(length) })));
  const many = [200, 201].map((count) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`name_${index}`, "on"])),
  );
  const settings = [{}, null, { name: null }, { name: 1 }, { "": "" }, ...named, ...valued, ...many].map(
    (pgSettings) => ({
      settings: { pgSettings },
    }),
  );
  const others = [null, true, "no", 1, {}, []].flatMap((value) =>
    ["compute", "suspend", "pooler", "settings", "adoption", "disabled", "deletionPolicy"].map((field) => ({
      [field]: value,
    })),
  );
  return [...compute, ...suspend, ...adoption, ...identifiers, ...settings, ...others].map((part) => ({
    ...base,
    ...part,
  }));
}

admission.defineTests({ valid, invalid, edgeCases: edgeCases() });

describe("a stored resource", () => {
  const patch = (body: object) =>
    adminKubectl().tryRun(["-n", namespace, "patch", "cpe", "kept", "--type=merge", "-p", JSON.stringify(body)]);

  beforeAll(async () => {
    const manifest = { apiVersion, kind, metadata: { name: "kept", namespace }, spec: base };
    await adminKubectl().run(["create", "-f", "-"], { stdin: JSON.stringify(manifest) });
  });

  test("starts with observedGeneration -1, so that no tool takes it for settled", async () => {
    const resource = await adminKubectl().getJson<{ status: object }>(["-n", namespace, "get", "cpe", "kept"]);
    expect(resource.status).toEqual({ observedGeneration: -1 });
  });

  test.each([
    ["projectId", { projectId: "tiny-owl-654321" }],
    ["type", { type: "ReadOnly" }],
  ])("%s cannot be changed", async (field, spec) => {
    const result = await patch({ spec });
    expect(result.code).not.toBe(0);
    expect(result.stderr).toContain(`${field} cannot be changed`);
  });

  test("its branch can", async () => {
    expect((await patch({ spec: { branchId: "br-bold-river-123456" } })).code).toBe(0);
  });

  test("status takes words that this version does not know", async () => {
    const status = {
      state: "hibernating",
      operations: [
        { id: "1", action: "defragment", status: "pondering", cause: "Other", createdTime: "x", updatedTime: "x" },
      ],
    };
    const words = ["patch", "cpe", "kept", "--subresource=status", "--type=merge", "-p", JSON.stringify({ status })];
    await adminKubectl().run(["-n", namespace, ...words]);
  });
});

describe("people with the shipped roles", () => {
  const may = async (role: string, verb: string, what: string) => {
    const user = `${role}-of-${namespace}`;
    const [resource = "", subresource] = what.split("/");
    const more = subresource === undefined ? [] : [`--subresource=${subresource}`];
    const question = ["auth", "can-i", verb, resource, ...more];
    return (await adminKubectl().tryRun([...question, "-n", namespace, "--as", user])).stdout.trim() === "yes";
  };

  beforeAll(async () => {
    const isAggregated = async () =>
      (await adminKubectl().run(["get", "clusterrole", "edit", "-o", "yaml"])).includes("computeendpoints")
        ? true
        : undefined;
    await waitUntil(isAggregated, { what: "the shipped roles have joined view and edit" });
    for (const role of ["view", "edit", "admin"]) {
      const user = `${role}-of-${namespace}`;
      const binding = ["create", "rolebinding", user, `--clusterrole=${role}`, `--user=${user}`];
      await adminKubectl().run(["-n", namespace, ...binding]);
    }
  });

  test.each([
    ["view", "get", "computeendpoints.endpoint-operator.dev", true],
    ["view", "update", "computeendpoints.endpoint-operator.dev", false],
    ["edit", "create", "computeendpoints.endpoint-operator.dev", true],
    ["view", "get", "controlplanes.endpoint-operator.dev", true],
    ["edit", "create", "controlplanes.endpoint-operator.dev", false],
    ["admin", "create", "controlplanes.endpoint-operator.dev", true],
    ["admin", "patch", "controlplanes.endpoint-operator.dev/status", false],
    ["admin", "create", "clustercontrolplanes.endpoint-operator.dev", false],
    ["edit", "delete", "computeendpoints.endpoint-operator.dev", true],
    ["edit", "patch", "computeendpoints.endpoint-operator.dev/status", false],
    ["view", "patch", "computeendpoints.endpoint-operator.dev/status", false],
    ["edit", "patch", "databaseaccesses.endpoint-operator.dev/status", false],
    // The grants are an annotation of a Namespace.
    ["admin", "get", "namespaces", true],
    ["admin", "patch", "namespaces", false],
    ["edit", "patch", "namespaces", false],
  ])("%s may %s %s: %s", async (role, verb, what, expected) => {
    expect(await may(role, verb, what)).toBe(expected);
  });
});
