/** Tests the health check and the actions for Argo CD. */
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { explained } from "../../../src/plugin/why.ts";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { accessStallReasons, progressReasons, stallReasons } from "../../../src/resource/conditions.ts";
import { parseClusterControlPlane } from "../../../src/resource/control-plane-resource.ts";
import { parseDatabaseAccess } from "../../../src/resource/database-access.ts";
import { statusSchema } from "../../../src/resource/status-schema.ts";
import { argoActions } from "../../../tools/argocd/config-map-patch.ts";
import { checkConditions } from "../../support/check-conditions.ts";
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
const healthOfKind = (kind: string) => data[`resource.customizations.health.endpoint-operator.dev_${kind}`] ?? "";
const health = healthOfKind("ComputeEndpoint");
const accessHealth = healthOfKind("DatabaseAccess");
const planeHealth = healthOfKind("ClusterControlPlane");
const actions = parse(data["resource.customizations.actions.endpoint-operator.dev_ComputeEndpoint"] ?? "") as {
  readonly "discovery.lua": string;
  readonly definitions: readonly { readonly name: string; readonly "action.lua": string }[];
};

/** The reasons whose health differs from that of their table in docs/conditions.md. */
const exceptions: Readonly<Record<string, string>> = {
  OperationFailed: "Degraded",
  Unauthorized: "Degraded",
  Paused: "Suspended",
};

/** The health that Argo CD must show for a reason: a person must act, work goes on, or there is no problem. */
function healthOf(reason: string): string {
  const isIn = (reasons: readonly string[]) => reasons.includes(reason);
  return exceptions[reason] ?? (isIn(stallReasons) ? "Degraded" : isIn(progressReasons) ? "Progressing" : "Healthy");
}

describe("the health check", () => {
  test.each(everyReason)("%s → its health, with the message of the condition", (reason) => {
    const resource = resourceSaying(reason);
    expect(statusSchema.safeParse(resource.status).error).toBeUndefined();
    expect(checkConditions(resource.status, resource.metadata.generation)).toEqual([]);
    const result = runLua(health, resource) as { status: string; message: string };
    expect(result.status).toBe(healthOf(reason));
    expect(result.message).toContain(`The message of ${readyReasonOf(reason)}.`);
  });

  test.each(everyAccessReason)("DatabaseAccess, %s → its health, with the message of the condition", (reason) => {
    const resource = accessSaying(reason);
    expect(parseDatabaseAccess(resource).status.conditions).toBeDefined();
    const isStall = (accessStallReasons as readonly string[]).includes(reason);
    const status = exceptions[reason] ?? (isStall ? "Degraded" : reason === "UpToDate" ? "Healthy" : "Progressing");
    expect(runLua(accessHealth, resource)).toMatchObject({ status, message: `${reason}: The message of ${reason}.` });
  });

  const waitsFor = { Healthy: "Nothing", Progressing: "Operator", Degraded: "Person", Suspended: "Person" } as const;
  test.each([
    ...everyReason.map((reason) => {
      const resource = resourceSaying(reason);
      return [reason, health, resource, explained(parseComputeEndpoint(resource))] as const;
    }),
    ...everyAccessReason.map((reason) => {
      const resource = accessSaying(reason);
      return [`DatabaseAccess ${reason}`, accessHealth, resource, explained(parseDatabaseAccess(resource))] as const;
    }),
    ...everyPlaneReason.map((reason) => {
      const resource = planeSaying(reason);
      const why = explained(parseClusterControlPlane(resource));
      return [`ClusterControlPlane ${reason}`, planeHealth, resource, why] as const;
    }),
  ])("%s → Argo CD and kubectl endpoints why name the same side that must act", (_reason, script, resource, why) => {
    const { status } = runLua(script, resource) as { status: keyof typeof waitsFor };
    expect(waitsFor[status]).toBe(why.value.waitsFor);
  });

  test.each(everyPlaneReason)("control plane, %s → the message of the condition that matters", (reason) => {
    const wanted = { message: `${reason}: The message of ${reason}.` };
    for (const script of [planeHealth, healthOfKind("ControlPlane")])
      expect(runLua(script, planeSaying(reason))).toMatchObject(wanted);
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
    expect(runLua(health, resource)).toMatchObject({ status, message: expect.stringMatching(/\w/) });
  });
});

test.each([
  ["handled", { lastHandledResetAt: "b" }, "Healthy"],
  ["not handled yet", { lastHandledResetAt: "a" }, "Progressing"],
])("a DatabaseBranch with a request for a reset that is %s → %s", (_, handled, status) => {
  const { metadata, status: shown } = resourceSaying("UpToDate");
  const annotations = { "endpoint-operator.dev/reset-requested-at": "b" };
  const branch = { kind: "DatabaseBranch", metadata: { ...metadata, annotations }, status: { ...shown, ...handled } };
  expect(runLua(healthOfKind("DatabaseBranch"), branch)).toMatchObject({ status });
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
