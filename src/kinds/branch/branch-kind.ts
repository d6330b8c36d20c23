import type { BranchList } from "../../domain/branch.ts";
import type { ControlPlane } from "../../domain/control-plane.ts";
import type { ResourceStore } from "../../domain/resource-store.ts";
import { mayBranchFrom, notGrantedMessage } from "../../engine/grant.ts";
import type { Kind, KindInProject, PlanTraits, ProjectFacts, Reads } from "../../engine/kind.ts";
import { pollDelayMs } from "../../engine/schedule.ts";
import { branchProjectKey, type DatabaseBranch } from "../../resource/database-branch.ts";
import type { DatabaseBranchStatus } from "../../resource/database-branch-schema.ts";
import { isIdentityProven, isIntentOf } from "../../resource/identity.ts";
import { databaseBranchNames } from "../../resource/names.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { branchEvents, branchNote, branchStatus } from "./branch-status.ts";
import {
  type BranchAnswer,
  type BranchFacts,
  type BranchPlan,
  type BranchReads,
  type BranchStep,
  type BranchTypes,
  ownBranchId,
  type Plan,
  resetAttempt,
} from "./branch-types.ts";
import { decideBranch } from "./decide-branch.ts";

export class BranchKind implements Kind<BranchTypes> {
  readonly finalizer = databaseBranchNames.finalizer;
  readonly store: ResourceStore<DatabaseBranch, DatabaseBranchStatus>;

  constructor(store: ResourceStore<DatabaseBranch, DatabaseBranchStatus>) {
    this.store = store;
  }

  resourcesOf({ key }: Pick<ProjectFacts, "key">): readonly DatabaseBranch[] {
    return this.store.withIndex(key).filter((resource) => branchProjectKey(resource) === key);
  }

  begin(project: ProjectFacts): KindInProject<BranchTypes> {
    return new BranchesInProject(project);
  }
}

export class BranchesInProject implements KindInProject<BranchTypes> {
  readonly #project: ProjectFacts;
  readonly noteOf = branchNote;
  readonly eventsOf = branchEvents;
  readonly statusOf = (step: BranchStep) => branchStatus(this.#project, step);
  /** One list for all resources of the project. */
  #listed: Promise<BranchList | undefined> | undefined;

  constructor(project: ProjectFacts) {
    this.#project = project;
  }

  deletionWork({ status, uid, place }: DatabaseBranch) {
    const isNothing = status.ownership?.resourceUid !== uid && status.createIntent === undefined;
    return isNothing ? "Nothing" : place.isRetained ? "Retained" : "Something";
  }

  isKeptWhilePaused({ status }: DatabaseBranch): boolean {
    return status.ownership !== undefined;
  }

  isProven(resource: DatabaseBranch): boolean {
    return isIdentityProven(resource, this.#project.identity);
  }

  missingGrant(resource: DatabaseBranch): string | undefined {
    const { grantOf, projectId } = this.#project;
    const { namespace } = resource.key;
    const { parent: ref } = resource.spec.kind === "Valid" ? resource.spec.spec : {};
    const parent = ref?.name ?? ref?.branchId ?? "";
    const isGranted = isBeingDeleted(resource) || mayBranchFrom(grantOf(namespace, projectId), parent);
    return isGranted ? undefined : notGrantedMessage(namespace, { projectId, parent }, "change");
  }

  decide(facts: BranchFacts, reads: Reads<BranchTypes>): Plan {
    return decideBranch(this.#project, facts, reads);
  }

  traitsOf(plan: BranchPlan): PlanTraits {
    switch (plan.kind) {
      case "CreateBranch":
        return { shape: "Change", name: plan.intent.attempt, attempt: plan.intent.attempt };
      case "ResetBranch":
        return { shape: "Change", name: plan.intent.value, attempt: resetAttempt(plan.intent) };
      case "RenewLease":
      case "DeleteBranch":
        return { shape: "Change", name: plan.branchId };
      default:
        return { shape: "Rest" };
    }
  }

  openAttempt(resource: DatabaseBranch): string | undefined {
    const { createIntent, resetIntent } = resource.status;
    const isOpen = isIntentOf(resource, createIntent, this.#project.identity);
    return isOpen ? createIntent?.attempt : resetIntent && resetAttempt(resetIntent);
  }

  /** Without a read by id, the first call lists the branches and the second one reads the own branch. */
  async observe(facts: BranchFacts, { own }: Reads<BranchTypes>, from: ControlPlane | undefined): Promise<BranchReads> {
    const { projectId } = this.#project;
    if (from === undefined) throw new Error("unreachable: branches are read only after the project");
    if (own?.kind === "Listed") {
      const branchId = ownBranchId(facts, own) ?? "";
      return { ...own, byId: { branchId, branch: await from.getBranch({ projectId, branchId }) } };
    }
    this.#listed ??= from.listBranches(projectId);
    const list = await this.#listed;
    return list === undefined ? { kind: "NotSupported" } : { kind: "Listed", list };
  }

  async send({ plan }: BranchStep, to: ControlPlane): Promise<BranchAnswer> {
    const { projectId } = this.#project;
    switch (plan?.kind) {
      case "CreateBranch":
        return await to.createBranch(projectId, plan.creation);
      case "RenewLease":
        return await to.setBranchExpiry({ projectId, branchId: plan.branchId }, plan.expiresTime);
      case "ResetBranch":
        return await to.resetBranch({ projectId, branchId: plan.branchId }, plan.parentId);
      case "DeleteBranch":
        return (await to.deleteBranch({ projectId, branchId: plan.branchId })) ?? { operations: [] };
      default:
        throw new Error(`unreachable: ${plan?.kind} sends nothing`);
    }
  }

  /** After a change, and after what only moves the records, the branch is looked at soon. */
  dueInMs({ plan, outcome, facts }: BranchStep): number | undefined {
    const isMoving = plan?.kind === "RecordBranch" || plan?.kind === "ForgetBranch" || plan?.kind === "RecordReset";
    return isMoving ? 0 : outcome.kind === "Accepted" ? pollDelayMs(0, facts.policy) : undefined;
  }
}
