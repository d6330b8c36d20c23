/** Decides about one DatabaseBranch: what to read next, and what follows from the reads. */
import type { Reads } from "../../engine/kind.ts";
import { invalidSpec, paused } from "../../engine/standing.ts";
import { isBeingDeleted, isPaused } from "../../resource/stored-object.ts";
import { stalls } from "./branch-texts.ts";
import { type BranchContext, type BranchFacts, type BranchTypes, ownBranchId, type Plan } from "./branch-types.ts";
import { planDeletion, planOwned } from "./plan-branch.ts";
import { planCreate } from "./plan-create.ts";

/** Pure. Guarantees: a branch is changed or deleted only after a read by id, and created only under a stored intent. */
export function decideBranch({ projectId }: BranchContext, facts: BranchFacts, reads: Reads<BranchTypes>): Plan {
  const { resource, memory } = facts;
  const { ownership } = resource.status;
  const answered = memory.posts?.answer?.branch;
  if (answered !== undefined && ownership === undefined) {
    return { kind: "RecordBranch", branch: answered };
  }
  const { snapshot } = reads.project ?? {};
  if (snapshot === undefined) {
    return { kind: "Look", at: "Project" };
  }
  const { own } = reads;
  if (own === undefined) {
    return { kind: "Look", at: "Own" };
  }
  if (own.kind === "NotSupported") {
    return stalls.notSupported(resource);
  }
  const observation = { ...facts, projectId, own, startedAtMs: snapshot.startedAtMs };
  const branchId = ownBranchId(facts, own);
  if (isBeingDeleted(resource)) {
    return planDeletion(observation, branchId);
  }
  if (resource.spec.kind === "Invalid") {
    return invalidSpec(resource.spec.problems);
  }
  const { spec } = resource.spec;
  if (ownership !== undefined) {
    return planOwned(observation, spec, ownership.branchId);
  }
  if (isPaused(resource)) {
    return paused;
  }
  // The answer to its create or its status was lost: the branch carries the resource's token.
  const isRead = own.byId?.branchId === branchId;
  if (branchId !== undefined && !isRead) {
    return { kind: "Look", at: "Own" };
  }
  const found = own.byId?.branch;
  return found === undefined ? planCreate(observation, spec) : { kind: "RecordBranch", branch: found };
}
