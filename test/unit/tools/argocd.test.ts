/** Tests the health check and the actions for Argo CD. */
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { explained } from "../../../src/plugin/why.ts";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { parseClusterControlPlane } from "../../../src/resource/control-plane-resource.ts";
import { parseDatabaseAccess } from "../../../src/resource/database-access.ts";
import { argoActions } from "../../../tools/argocd/config-map-patch.ts";
import { runLua } from "../../support/lua.ts";
import {
  accessSaying,
  everyAccessReason,
  everyPlaneReason,
  everyReason,
  planeSaying,
  readyReasonOf,
  resourceSaying,
} from "../../support/status-saying.ts";

const patch = await readFile(new URL("../../../deploy/argocd/argocd-cm-patch.yaml", import.meta.url), "utf8");
const { data } = parse(patch) as { data: Readonly<Record<string, string>> };
const healthOf = (kind: string, resource: unknown) =>
  runLua(data[`resource.customizations.health.endpoint-operator.dev_${kind}`] ?? "", resource) as {
    readonly status: keyof typeof waitsFor;
    readonly message: string;
  };
const actions = parse(data["resource.customizations.actions.endpoint-operator.dev_ComputeEndpoint"] ?? "") as {
  readonly "discovery.lua": string;
  readonly definitions: readonly { readonly name: string; readonly "action.lua": string }[];
};

/** The side that must act, by the health that Argo CD shows. */
const waitsFor = { Healthy: "Nothing", Progressing: "Operator", Degraded: "Person", Suspended: "Person" } as const;

describe("the health check", () => {
  test.each([
    ...everyReason.map((reason) => {
      const resource = resourceSaying(reason);
      return [reason, "ComputeEndpoint", readyReasonOf(reason), resource, parseComputeEndpoint(resource)] as const;
    }),
    ...everyAccessReason.map((reason) => {
      const resource = accessSaying(reason);
      return [reason, "DatabaseAccess", reason, resource, parseDatabaseAccess(resource)] as const;
    }),
    ...everyPlaneReason.map((reason) => {
      const resource = planeSaying(reason);
      return [reason, "ClusterControlPlane", reason, resource, parseClusterControlPlane(resource)] as const;
    }),
  ])("%s of a %s → names the same side that must act as kubectl endpoints why, with the message of %s", (...row) => {
    const [reason, kind, shown, resource, parsed] = row;
    const { status, message } = healthOf(kind, resource);
    expect([waitsFor[status], status === "Suspended"]).toEqual([explained(parsed).value.waitsFor, reason === "Paused"]);
    expect(message).toBe(`${shown}: The message of ${shown}.`);
  });

  const ready = resourceSaying("UpToDate");
  const { status: _, ...fresh } = ready;
  test.each([
    ["no status yet", fresh, "Progressing"],
    ["an empty status", { ...ready, status: {} }, "Progressing"],
    ["a newer spec than was compared", { ...ready, metadata: { ...ready.metadata, generation: 4 } }, "Progressing"],
    [
      "deletion",
      { ...ready, metadata: { ...ready.metadata, deletionTimestamp: "2026-11-20T10:00:00Z" } },
      "Progressing",
    ],
  ])("%s → %s", (_name, resource, status) => {
    expect(healthOf("ComputeEndpoint", resource)).toMatchObject({ status, message: expect.stringMatching(/\w/) });
  });
});

test.each([
  ["handled", { lastHandledResetAt: "b" }, "Healthy"],
  ["not handled yet", { lastHandledResetAt: "a" }, "Progressing"],
])("a DatabaseBranch with a request for a reset that is %s → %s", (_, handled, status) => {
  const { metadata, status: shown } = resourceSaying("UpToDate");
  const annotations = { "endpoint-operator.dev/reset-requested-at": "b" };
  const branch = { kind: "DatabaseBranch", metadata: { ...metadata, annotations }, status: { ...shown, ...handled } };
  expect(healthOf("DatabaseBranch", branch)).toMatchObject({ status });
});

describe("the actions", () => {
  const discover = (resource: unknown) => runLua(actions["discovery.lua"], resource);
  const run = (name: string, resource: unknown) =>
    runLua(actions.definitions.find((definition) => definition.name === name)?.["action.lua"] ?? "", resource) as {
      metadata: { annotations?: Record<string, string> };
    };

  test("discovery → names exactly the actions that have a script", () => {
    expect(Object.keys(discover(resourceSaying("UpToDate")) as object).sort()).toEqual([...argoActions].sort());
    expect(actions.definitions.map(({ name }) => name)).toEqual(argoActions);
  });

  test("a resource that is not paused and has no failure → resume and acknowledge-failure are disabled", () => {
    expect(discover(resourceSaying("UpToDate"))).toEqual({
      reconcile: { disabled: false },
      pause: { disabled: false },
      resume: { disabled: true },
      "acknowledge-failure": { disabled: true },
    });
  });

  test("pause, then resume → the annotation comes and goes; other annotations stay", () => {
    const resource = resourceSaying("UpToDate");
    const noted = { ...resource, metadata: { ...resource.metadata, annotations: { note: "x" } } };
    const paused = run("pause", noted);
    expect(paused.metadata.annotations).toEqual({ note: "x", "endpoint-operator.dev/paused": "true" });
    expect(discover(paused)).toMatchObject({ pause: { disabled: true }, resume: { disabled: false } });
    expect(run("resume", paused).metadata.annotations).toEqual({ note: "x" });
  });

  test("acknowledge-failure → the annotation names the operation that failed", () => {
    const failed = resourceSaying("OperationFailed");
    expect(discover(failed)).toMatchObject({ "acknowledge-failure": { disabled: false } });
    const { metadata } = run("acknowledge-failure", failed);
    expect(metadata.annotations).toEqual({ "endpoint-operator.dev/acknowledge-operation": "op-9" });
  });

  test("reconcile → the annotation holds a time", () => {
    const { metadata } = run("reconcile", resourceSaying("UpToDate"));
    const time = metadata.annotations?.["endpoint-operator.dev/reconcile-requested-at"];
    expect(time).toMatch(/^\d{10}$/);
  });
});
