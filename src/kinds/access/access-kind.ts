/** The kind DatabaseAccess. */
import type { BranchPath } from "../../domain/branch.ts";
import type { ControlPlane, RoleChange } from "../../domain/control-plane.ts";
import { KubernetesError, normal, type ResourceStore } from "../../domain/resource-store.ts";
import { mayUse, notGrantedMessage } from "../../engine/grant.ts";
import type { Kind, KindInProject, PlanTraits, ProjectFacts, Reads } from "../../engine/kind.ts";
import type { DatabaseAccess } from "../../resource/database-access.ts";
import type { AccessObject, DatabaseAccessStatus } from "../../resource/database-access-schema.ts";
import { databaseAccessNames } from "../../resource/names.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { attemptOf, isRecordedElsewhere, recordedObjects } from "./access-records.ts";
import { bindingOf, readOwnSecret, trySecret, writeSecret } from "./access-secret.ts";
import { accessEvents, accessNote, accessStatus } from "./access-status.ts";
import {
  type AccessAnswer,
  type AccessContext,
  type AccessFacts,
  type AccessHint,
  type AccessParts,
  type AccessPlan,
  type AccessReads,
  type AccessStep,
  type AccessTypes,
  type AppliedSecret,
  validSpecOf,
} from "./access-types.ts";
import { comparedMark, decideAccess, secretCheckInMs, secretCheckMs } from "./decide-access.ts";
import { deletedWith, deletionWork } from "./deletion.ts";
import { accessKeyOf, endpointIndex, endpointMark, placeFor, recordIndex, referenceOf } from "./endpoint-reference.ts";
import { type BranchCache, observationAfter, observationOf, observe } from "./observe-access.ts";

export class AccessKind implements Kind<AccessTypes> {
  readonly finalizer = databaseAccessNames.finalizer;
  readonly store: ResourceStore<DatabaseAccess, DatabaseAccessStatus>;
  readonly #parts: AccessParts;

  constructor(parts: AccessParts) {
    this.#parts = parts;
    this.store = parts.store;
  }

  /** The key of the project in which the resource is reconciled. */
  keyOf(resource: DatabaseAccess): string {
    return accessKeyOf(resource, this.#parts.findEndpoint);
  }

  resourcesOf({ key, projectId }: Pick<ProjectFacts, "key" | "projectId">): readonly DatabaseAccess[] {
    const { store, endpointsOf } = this.#parts;
    const indexes = [recordIndex(key), ...endpointsOf(projectId).map((endpoint) => endpointIndex(endpoint.key))];
    const byUid = new Map(indexes.flatMap((index) => store.withIndex(index)).map((each) => [each.uid, each]));
    return [...byUid.values()].filter((resource) => this.keyOf(resource) === key);
  }

  begin(project: ProjectFacts): AccessesInProject {
    return new AccessesInProject({ ...this.#parts, ...project });
  }
}

class AccessesInProject implements KindInProject<AccessTypes> {
  readonly deletionWork = (resource: DatabaseAccess) => deletionWork(this.#context, resource);
  readonly isProven = (resource: DatabaseAccess) => !isRecordedElsewhere(resource, this.#context.identity);
  readonly decide = (facts: AccessFacts, reads: Reads<AccessTypes>) => decideAccess(this.#context, facts, reads);
  readonly noteOf = (step: AccessStep) => accessNote(this.#context, step);
  readonly statusOf = (step: AccessStep) => accessStatus(this.#context, step);
  readonly eventsOf = (step: AccessStep, next?: DatabaseAccessStatus) => accessEvents(this.#context, step, next);
  readonly #context: AccessContext;
  readonly #contents: BranchCache = new Map();

  constructor(context: AccessContext) {
    this.#context = context;
  }

  basisOf(resource: DatabaseAccess): string {
    const { endpointsOf, projectId } = this.#context;
    return endpointMark(this.#context, resource, endpointsOf(projectId));
  }

  missingGrant(resource: DatabaseAccess): string | undefined {
    const { grantOf, problem, projectId } = this.#context;
    const { namespace } = resource.key;
    if (isBeingDeleted(resource)) {
      // What the resource is not known to have created, it may only delete if the namespace may adopt.
      const isGranted = (each: AccessObject) =>
        each.origin === "Created" || grantOf(namespace, each.projectId).mayAdopt;
      const refused = deletedWith(this.#context, resource).find((each) => !isGranted(each));
      return refused && notGrantedMessage(namespace, { projectId: refused.projectId }, "deleteAdopted");
    }
    const reference = referenceOf(this.#context, resource);
    const wanted = reference.kind === "Named" ? reference.projectId : problem && projectId;
    const place = placeFor(this.#context, resource);
    const isMissing = wanted !== undefined && !mayUse(grantOf(namespace, wanted), place);
    return isMissing ? notGrantedMessage(namespace, { projectId: wanted, ...place }, "change") : undefined;
  }

  observe(facts: AccessFacts, { project }: Reads<AccessTypes>, from?: ControlPlane): Promise<AccessReads> {
    return observe(this.#context, facts, from && project && { objects: from, project, contents: this.#contents });
  }

  traitsOf(plan: AccessPlan): PlanTraits {
    switch (plan.kind) {
      case "CreateObject": {
        const announced = plan.object.type === "Role" ? [mayDrop] : [];
        return { shape: "Change", name: nameOf(plan), attempt: attemptOf(plan.object), announced };
      }
      case "DeleteObject":
        return { shape: "Change", name: nameOf(plan) };
      case "ResetPassword":
        return { shape: "Change", announced: [mayDrop] };
      default:
        return { shape: plan.kind === "WriteSecret" ? "Apply" : "Rest" };
    }
  }

  openAttempt(resource: DatabaseAccess): string | undefined {
    const requested = recordedObjects(resource, this.#context.identity).filter(({ origin }) => origin === "Requested");
    return requested.map(attemptOf).at(-1);
  }

  async tryWrites({ facts, reads, plan }: AccessStep): Promise<void> {
    const observation = observationOf(this.#context, facts, reads);
    if (plan?.kind === "ResetPassword" && observation !== undefined) await trySecret(this.#context, observation);
  }

  async send({ plan, facts, reads }: AccessStep, to: ControlPlane): Promise<AccessAnswer> {
    const spec = validSpecOf(facts.resource);
    switch (plan?.kind) {
      case "CreateObject":
        return await createObject(to, plan.object, spec?.role.name ?? "");
      case "DeleteObject":
        return await deleteObject(to, plan.object);
      case "ResetPassword": {
        if (reads.own?.kind !== "Access" || spec === undefined) break;
        const answer = await to.resetPassword(reads.own.endpoint, spec.role.name);
        this.#context.observer.passwordReset();
        return answerOf(reads.own.endpoint, answer);
      }
    }
    throw new Error(`unreachable: ${plan?.kind} sends nothing`);
  }

  /** Writes the Secret of the plan, or with the password of the answer to a reset. */
  async apply(step: AccessStep): Promise<AppliedSecret | undefined> {
    const { plan, outcome } = step;
    const observation = observationAfter(this.#context, step);
    if (observation !== undefined && plan?.kind === "WriteSecret") {
      return await writeSecret(this.#context, observation, plan);
    }
    const isReset = plan?.kind === "ResetPassword" && outcome.kind === "Accepted" && outcome.answer.password;
    if (observation?.password.kind !== "Known" || !isReset) {
      return undefined;
    }
    const data = bindingOf(observation, observation.password.password.reveal());
    return await writeSecret(this.#context, observation, { data, cause: "Rotated" });
  }

  /** A password that no Secret holds is kept until the resource is settled. */
  hintAfter({ plan, outcome, facts, reads }: AccessStep): AccessHint | undefined {
    const { hint } = facts.memory;
    if (outcome.kind === "Accepted") {
      return { password: outcome.applied ? undefined : (outcome.answer.password ?? hint?.password) };
    }
    const isResult = outcome.kind === "NothingSent" || outcome.kind === "Applied";
    if (isResult && plan?.kind === "Idle") {
      return hint;
    }
    // A change that waits, and a failure, end the comparison: what follows must be looked at.
    if (!isResult || reads.own?.kind !== "Access" || reads.project === undefined) {
      return { password: hint?.password };
    }
    const isSettled = plan?.kind === "Settled" || plan?.kind === "WriteSecret";
    const compared = { mark: comparedMark(reads.project, reads.own.endpoint), atMs: facts.monotonicMs };
    return { compared, password: isSettled ? undefined : hint?.password };
  }

  dueInMs({ plan, outcome, facts }: AccessStep): number | undefined {
    switch (plan?.kind) {
      case "Stall":
        return secretCheckMs;
      case "Settled":
      case "WriteSecret":
        return secretCheckInMs(this.#context, facts.resource);
      default:
        return outcome.kind === "Accepted" ? 0 : undefined;
    }
  }

  /** Without the right, the garbage collector deletes the Secret that the resource owns. @throws KubernetesError */
  async release(resource: DatabaseAccess): Promise<void> {
    const { secrets } = this.#context;
    const facts = await readOwnSecret(secrets, resource);
    if (facts.kind === "Own") {
      await secrets.delete(facts.secret).catch(unlessForbidden);
    }
  }
}

const mayDrop = normal("ConnectionsMayDrop", "Update", "A role changes, and the control plane may drop connections.");

function nameOf({ object }: { readonly object: AccessObject }): string {
  return `${attemptOf(object)} ${object.name}`;
}

async function createObject(to: ControlPlane, object: AccessObject, ownerName: string): Promise<AccessAnswer> {
  return object.type === "Role"
    ? answerOf(object, await to.createRole(object, object.name))
    : await to.createDatabase(object, { name: object.name, ownerName });
}

/** The answer alone does not prove that the object is gone. A later list proves it. */
async function deleteObject(to: ControlPlane, object: AccessObject): Promise<AccessAnswer> {
  const { type, name } = object;
  const answer = await (type === "Role" ? to.deleteRole(object, name) : to.deleteDatabase(object, name));
  return { operations: answer?.operations ?? [], isFound: answer !== undefined };
}

function answerOf({ branchId }: BranchPath, { role, password, operations }: RoleChange): AccessAnswer {
  return { operations, password: password && { password, branchId, roleUpdatedTime: role.updatedTime } };
}

function unlessForbidden(error: unknown): void {
  if (!(error instanceof KubernetesError) || error.reason !== "Forbidden") throw error;
}
