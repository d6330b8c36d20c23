/** Plans the next step of a DatabaseBranch that owns no branch. */
import { wait } from "../../engine/kind.ts";
import { secondsTime } from "../../resource/conditions.ts";
import type { BranchIntent, DatabaseBranchSpec } from "../../resource/database-branch-schema.ts";
import { isTokenOfCluster, planeRecord } from "../../resource/identity.ts";
import { stalls } from "./branch-texts.ts";
import { type BranchObservation, ownerAnnotation, ownToken, type Plan } from "./branch-types.ts";

/**
 * Plans a create under an intent. At most one POST of it is ever unresolved. The control plane has no two branches of one
 * name, so even a POST that takes effect late makes no second branch.
 */
export function planCreate(observation: BranchObservation, spec: DatabaseBranchSpec): Plan {
  const { own, projectId, identity } = observation;
  const name = spec.name ?? usualName(observation);
  const namesake = own.list.branches.find((branch) => branch.name === name);
  if (namesake !== undefined) {
    const token = namesake.annotation[ownerAnnotation];
    const isForeign = token !== undefined && !isTokenOfCluster(token, identity.clusterId);
    return isForeign ? stalls.ownedElsewhere(name) : stalls.exists(name);
  }
  const { parent } = spec;
  const found = own.list.branches.find((branch) =>
    parent === undefined ? branch.isDefault : branch.id === parent.branchId || branch.name === parent.name,
  );
  if (parent !== undefined && found === undefined) {
    return stalls.parentNotFound(parent.name ?? parent.branchId ?? "", projectId);
  }
  const intent = intentOf(observation, name);
  const { parentTime, initSource, leaseDurationSeconds: seconds } = spec;
  const expiresTime = seconds === undefined ? undefined : secondsTime(observation.nowMs + seconds * 1_000);
  const creation = { name, parentId: found?.id, parentTime, initSource, expiresTime };
  return { kind: "CreateBranch", intent, creation: { ...creation, annotation: { [ownerAnnotation]: intent.token } } };
}

/** A POST without an answer may still take effect, or have made an entry that cannot be read. `undefined`: neither. */
export function planUnresolved(observation: BranchObservation): Plan | undefined {
  const { resource, own } = observation;
  const { attempt } = resource.status.createIntent ?? {};
  const leftMs = attempt === undefined ? undefined : settleLeftMs(observation, attempt);
  if (leftMs === undefined) {
    return undefined;
  }
  const token = ownToken(observation);
  const made = own.list.unreadable.find(({ id, annotation }) => id === "" || annotation[ownerAnnotation] === token);
  const message = "The answer to a create was lost. The operator waits until that request can no longer take effect.";
  return leftMs > 0 ? wait("CreateUnresolved", message, leftMs) : made && stalls.unreadable(made.id);
}

/** Milliseconds for which a request under this note may still take effect; `undefined`: each was refused or answered. */
export function settleLeftMs({ memory: { posts }, policy, startedAtMs }: BranchObservation, attempt: string) {
  if (posts?.attempt !== attempt) return policy.createSettleMs;
  return posts.isUnresolved ? posts.sinceMs + policy.createSettleMs - startedAtMs : undefined;
}

function usualName(observation: BranchObservation): string {
  const { namespace, name } = observation.resource.key;
  return `${namespace}/${name}-k8s-${ownToken(observation)}`;
}

/** The stored intent, if every POST of it was refused or never sent; else a new one. */
function intentOf(observation: BranchObservation, name: string): BranchIntent {
  const { resource, memory, identity, projectId } = observation;
  const { createIntent: stored } = resource.status;
  const isUsable = stored?.name === name && stored.attempt === memory.posts?.attempt && !memory.posts.isUnresolved;
  return isUsable
    ? stored
    : { attempt: resource.resourceVersion, token: ownToken(observation), name, ...planeRecord(identity), projectId };
}
