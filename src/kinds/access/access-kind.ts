/** The kind DatabaseAccess. */
import type { ControlPlane } from "../../domain/control-plane.ts";
import { KubernetesError, normal, type ResourceEvent, type ResourceStore } from "../../domain/resource-store.ts";
import { mayUse, notGrantedMessage } from "../../engine/grant.ts";
import type { Kind, KindInProject, PlanTraits, ProjectFacts, Reads } from "../../engine/kind.ts";
import type { DatabaseAccess } from "../../resource/database-access.ts";
import type { AccessObject, DatabaseAccessStatus } from "../../resource/database-access-schema.ts";
import { databaseAccessNames } from "../../resource/names.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { accessEvents, releaseEvents } from "./access-events.ts";
import { attemptOf, isRecordedElsewhere, recordedObjects } from "./access-records.ts";
import { accessNote, accessStatus } from "./access-status.ts";
import type {
  AccessAnswer,
  AccessContext,
  AccessFacts,
  AccessHint,
  AccessParts,
  AccessPlan,
  AccessReads,
  AccessStep,
  AccessTypes,
  AppliedSecret,
  Plan,
} from "./access-types.ts";
import { comparedMark, decideAccess, secretCheckMs } from "./decide-access.ts";
import { deletedWith, deletionWork, isDeletionGranted } from "./deletion.ts";
import { accessKeyOf, endpointIndex, endpointMark, placeFor, recordIndex, referenceOf } from "./endpoint-reference.ts";
import { BranchReader, observationOf, observe, readOwnSecret } from "./observe-access.ts";
import { rotationDueMs } from "./rotation.ts";
import { applySecret, sendAccessChange, trySecret } from "./send.ts";

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
  readonly #context: AccessContext;
  readonly #reader = new BranchReader();

  constructor(context: AccessContext) {
    this.#context = context;
  }

  basisOf(resource: DatabaseAccess): string {
    const { endpointsOf, projectId } = this.#context;
    return endpointMark(this.#context, resource, endpointsOf(projectId));
  }

  deletionWork(resource: DatabaseAccess) {
    return deletionWork(this.#context, resource);
  }

  isProven(resource: DatabaseAccess): boolean {
    return resource.isStatusReadable && !isRecordedElsewhere(resource, this.#context.identity);
  }

  missingGrant(resource: DatabaseAccess): string | undefined {
    const { grantOf, problem, projectId } = this.#context;
    const { namespace } = resource.key;
    if (isBeingDeleted(resource)) {
      const refused = deletedWith(this.#context, resource).find(
        (each) => !isDeletionGranted(this.#context, resource, each),
      );
      return refused && notGrantedMessage(namespace, refused.projectId, "deleteAdopted");
    }
    const reference = referenceOf(this.#context, resource);
    const wanted = reference.kind === "Named" ? reference.projectId : problem && projectId;
    const isMissing = wanted !== undefined && !mayUse(grantOf(namespace, wanted), placeFor(this.#context, resource));
    return isMissing ? notGrantedMessage(namespace, wanted, "change") : undefined;
  }

  decide(facts: AccessFacts, reads: Reads<AccessTypes>): Plan {
    return decideAccess(this.#context, facts, reads);
  }

  observe(facts: AccessFacts, reads: Reads<AccessTypes>, from: ControlPlane | undefined): Promise<AccessReads> {
    return observe(this.#context, facts, { reads, from, reader: this.#reader });
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

  async tryWrites(step: AccessStep): Promise<AppliedSecret | undefined> {
    const observation = observationOf(this.#context, step.facts, step.reads);
    const isReset = step.plan?.kind === "ResetPassword";
    return isReset && observation !== undefined ? await trySecret(this.#context, observation) : undefined;
  }

  noteOf(step: AccessStep): DatabaseAccessStatus | undefined {
    const observation = observationOf(this.#context, step.facts, step.reads);
    return observation && accessNote(this.#context, step, observation);
  }

  send(step: AccessStep, to: ControlPlane): Promise<AccessAnswer> {
    return sendAccessChange(this.#context, step, to);
  }

  apply(step: AccessStep): Promise<AppliedSecret | undefined> {
    return applySecret(this.#context, step);
  }

  /** The password is kept until the resource is settled: until then the Secret may have to be written again. */
  hintAfter({ plan, outcome, facts, reads }: AccessStep): AccessHint | undefined {
    const { hint } = facts.memory;
    if (outcome.kind === "Accepted") {
      return { password: outcome.answer.password ?? hint?.password };
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

  statusOf(step: AccessStep): DatabaseAccessStatus {
    return accessStatus(this.#context, step);
  }

  dueInMs({ plan, outcome, facts }: AccessStep): number | undefined {
    switch (plan?.kind) {
      case "Stall":
        return secretCheckMs;
      case "Settled":
      case "WriteSecret": {
        const leftMs = rotationDueMs(this.#context, facts.resource) - facts.nowMs;
        return leftMs > 0 ? Math.min(secretCheckMs, leftMs) : secretCheckMs;
      }
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

  eventsOf(step: AccessStep, next: DatabaseAccessStatus | undefined): readonly ResourceEvent[] {
    return next === undefined ? releaseEvents(this.#context, step) : accessEvents(step);
  }
}

const mayDrop = normal("ConnectionsMayDrop", "Update", "A role changes, and the control plane may drop connections.");

function nameOf({ object }: { readonly object: AccessObject }): string {
  return `${attemptOf(object)} ${object.name}`;
}

function unlessForbidden(error: unknown): void {
  if (!(error instanceof KubernetesError) || error.reason !== "Forbidden") throw error;
}
