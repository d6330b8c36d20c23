/** Checks that resources are as their specs say, long after the last fault. */
import type { EndpointRecord } from "../control-plane/engine.ts";
import type { StoredObject } from "../kubernetes/answers.ts";
import { isObject } from "../kubernetes/merge-patch.ts";
import { conditionOf, isPausedByPerson, isSettled } from "../run/settled.ts";
import { isObserved, ownershipOf, pendingOf, specOf } from "../run/stored-records.ts";
import type { Promised } from "../run/violation.ts";
import type { World } from "../run/world.ts";
import { wantedSpecOf, whyForgotten } from "./disruption.ts";
import type { Oracle } from "./oracle.ts";
import { whyNotJustified } from "./stall-reasons.ts";

/**
 * L1, L2, L4: long after the last fault, each resource is as its spec says. Otherwise it is Stalled, and the Stalled
 * condition is true.
 */
export function atRest(world: World): Oracle {
  return {
    atEnd() {
      for (const resource of world.resources()) {
        const problem = problemOf(world, resource);
        if (problem !== undefined) world.violate(problem.promise, `${resource.metadata.name} ${problem.text}`);
      }
    },
  };
}

/** Why a resource is not in the state in which it should stay. */
export interface Problem {
  readonly promise: Promised;
  readonly text: string;
}

/** Checks a resource as it is now. There must have been no fault for a long time. */
export function problemOf(world: World, resource: StoredObject): Problem | undefined {
  const stalled = conditionOf(resource, "Stalled");
  if (isPausedByPerson(resource)) return pausedProblem(world, resource);
  if (isWithoutBranch(world, resource)) return undefined;
  if (!isSettled(resource)) {
    const { status, reason, message } = conditionOf(resource, "Ready") ?? {};
    const promise = resource.metadata.deletionTimestamp === undefined ? "L1" : "L2";
    return { promise, text: `is not at rest: Ready is ${status} ${reason}: ${message}` };
  }
  if (stalled === undefined) return readyProblem(world, resource);
  const why = whyNotJustified(world, resource, String(stalled.reason));
  return why === undefined
    ? undefined
    : { promise: "L1", text: `is Stalled ${stalled.reason}, but ${why}: ${stalled.message}` };
}

/** Whether it waits for the branch of a DatabaseBranch that is not there, or paused before it had one. */
function isWithoutBranch(world: World, resource: StoredObject): boolean {
  const { branchRef } = specOf(resource);
  const isThere =
    isObject(branchRef) &&
    world.branches().some((each) => each.metadata.name === branchRef.name && !isPausedByPerson(each));
  const isWaiting = conditionOf(resource, "Ready")?.reason === "WaitingForBranch";
  return isWaiting && !isThere && resource.metadata.deletionTimestamp === undefined;
}

/** Checks that a paused resource whose endpoint is gone is not Ready. */
function pausedProblem(world: World, resource: StoredObject): Problem | undefined {
  const endpointId = ownershipOf(resource)?.endpointId;
  const isReady = conditionOf(resource, "Ready")?.status === "True";
  const isGone = endpointId !== undefined && world.history.goneMs.has(endpointId);
  return isReady && isGone ? { promise: "S8", text: "is paused and Ready although its endpoint is gone" } : undefined;
}

function readyProblem(world: World, resource: StoredObject): Problem | undefined {
  if (isObserved(resource)) {
    const { finalizers } = resource.metadata;
    return !Array.isArray(finalizers) || finalizers.length === 0
      ? undefined
      : { promise: "L1", text: "is only observed, and keeps its finalizer" };
  }
  const endpointId = ownershipOf(resource)?.endpointId;
  const endpoint = world.endpoints().find(({ id }) => id === endpointId);
  if (endpoint === undefined) return { promise: "S8", text: "is Ready, and there is no endpoint" };
  const wanted = { ...resource, spec: wantedSpecOf(world, resource) };
  const wrong = differences(wanted, endpoint, world.controlPlane.echoesNames);
  const sync = conditionOf(resource, "InSync");
  if (wrong.length > 0 !== (sync?.status === "False"))
    return { promise: "S8", text: `is InSync ${sync?.status} ${sync?.reason}, and differs in "${wrong.join(", ")}"` };
  return wrong.length === 0 ? undefined : pendingProblem(world, resource, { endpoint, wrong });
}

interface Difference {
  readonly endpoint: EndpointRecord;
  readonly wrong: readonly string[];
}

/** A difference is right only if it waits by `spec.disruption`, and still has to. */
function pendingProblem(world: World, resource: StoredObject, { endpoint, wrong }: Difference): Problem | undefined {
  const fields = JSON.stringify(pendingOf(resource)?.fields ?? []);
  const fieldOf = (name: string) => `"spec.${name === "branchId" ? name : "compute"}"`;
  const isPending =
    conditionOf(resource, "ChangePending") !== undefined && wrong.every((name) => fields.includes(fieldOf(name)));
  if (!isPending) return { promise: "L1", text: `is Ready, but its endpoint differs in ${wrong.join(", ")}` };
  const why = whyForgotten(world, resource, endpoint);
  return why === undefined ? undefined : { promise: "L1", text: `has a pending change, but ${why}` };
}

/**
 * Returns the managed fields in which an endpoint differs from its spec. A field that no read shows is left out,
 * because another client may have changed it unseen.
 */
export function differences(
  resource: StoredObject,
  endpoint: EndpointRecord,
  showsSuspend: boolean,
): readonly string[] {
  const { branchId, type, compute, pooler, settings, disabled, suspend } = specOf(resource);
  const { minUnits, maxUnits } = isObject(compute) ? compute : {};
  const { pgSettings } = isObject(settings) ? settings : {};
  const { enabled, mode } = isObject(pooler) ? pooler : {};
  const wanted: readonly (readonly [name: string, wanted: unknown, found: unknown])[] = [
    ["branchId", branchId, endpoint.branchId],
    ["type", type, endpoint.type === "read_write" ? "ReadWrite" : "ReadOnly"],
    ["minUnits", minUnits, endpoint.minUnits],
    ["maxUnits", maxUnits, endpoint.maxUnits],
    ["pgSettings", pgSettings, endpoint.pgSettings],
    ["pooler.enabled", enabled, endpoint.poolerEnabled],
    ["pooler.mode", mode === undefined ? undefined : String(mode).toLowerCase(), endpoint.poolerMode],
    ["disabled", disabled, endpoint.disabled],
    ["suspend", showsSuspend ? suspendSecondsOf(suspend) : undefined, endpoint.suspendTimeoutSeconds],
  ];
  return wanted.flatMap(([name, want, found]) =>
    want === undefined || JSON.stringify(want) === JSON.stringify(found) ? [] : [name],
  );
}

function suspendSecondsOf(suspend: unknown): number | undefined {
  if (!isObject(suspend)) return undefined;
  if (suspend.mode === "After") return Number(suspend.afterSeconds);
  return suspend.mode === "Never" ? -1 : 0;
}
