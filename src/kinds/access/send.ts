/** Sends the one request of a change of a DatabaseAccess, and writes its Secret. */
import type { BranchObjects, RoleChange } from "../../domain/control-plane.ts";
import { KubernetesError, type SecretData, type WantedSecret } from "../../domain/resource-store.ts";
import { secretKeyOf } from "../../resource/database-access.ts";
import type { AccessObject } from "../../resource/database-access-schema.ts";
import { group, version } from "../../resource/names.ts";
import type { AccessAnswer, AccessContext, AccessObservation, AccessStep, AppliedSecret } from "./access-types.ts";
import { bindingSecretType } from "./binding.ts";
import { observationAfter } from "./observe-access.ts";
import { bindingData } from "./plan-access.ts";

/** @throws ControlPlaneError */
export async function sendAccessChange(
  { observer }: AccessContext,
  { plan, facts, reads }: AccessStep,
  objects: BranchObjects,
): Promise<AccessAnswer> {
  switch (plan?.kind) {
    case "CreateObject":
      return await create(plan.object, facts.resource.spec, objects);
    case "DeleteObject": {
      // The answer alone does not prove that the object is gone. A later list proves it.
      const { object } = plan;
      const isRole = object.type === "Role";
      const answer = await (isRole
        ? objects.deleteRole(object, object.name)
        : objects.deleteDatabase(object, object.name));
      return { operations: answer?.operations ?? [], isFound: answer !== undefined };
    }
    case "ResetPassword": {
      const { spec } = facts.resource;
      if (reads.own?.kind !== "Access" || spec.kind !== "Valid") break;
      const answer = await objects.resetPassword(reads.own.endpoint, spec.spec.role.name);
      observer.passwordReset();
      return answerOf(reads.own.endpoint.branchId, answer);
    }
  }
  throw new Error(`unreachable: ${plan?.kind} sends nothing`);
}

async function create(
  object: AccessObject,
  spec: AccessStep["facts"]["resource"]["spec"],
  objects: BranchObjects,
): Promise<AccessAnswer> {
  if (object.type === "Role") {
    return answerOf(object.branchId, await objects.createRole(object, object.name));
  }
  const ownerName = spec.kind === "Valid" ? spec.spec.role.name : "";
  return await objects.createDatabase(object, { name: object.name, ownerName });
}

function answerOf(branchId: string, { role, password, operations }: RoleChange): AccessAnswer {
  return { operations, password: password && { password, branchId, roleUpdatedTime: role.updatedTime } };
}

/** Writes the Secret of the plan, or with the password of an answer. @throws KubernetesError */
export async function applySecret(context: AccessContext, step: AccessStep): Promise<AppliedSecret | undefined> {
  const { secrets, observer } = context;
  const observation = observationAfter(context, step);
  const written = observation && secretOf(step, observation);
  if (observation === undefined || written === undefined) {
    return undefined;
  }
  const { secret } = observation;
  const before = secret.kind === "Own" ? secret.secret : undefined;
  try {
    const { resourceVersion } = await secrets.write(wantedSecret(observation, written.data), before);
    observer.secretWritten(written.cause);
    return { kind: "Written", resourceVersion, cause: written.cause };
  } catch (error) {
    return forbidden(error);
  }
}

function secretOf({ plan, outcome }: AccessStep, observation: AccessObservation) {
  if (plan?.kind === "WriteSecret") {
    return plan;
  }
  const { password } = observation;
  const isReset =
    plan?.kind === "ResetPassword" && outcome.kind === "Accepted" && outcome.answer.password !== undefined;
  return isReset && password.kind === "Known"
    ? { data: bindingData(observation, password.password.reveal()), cause: "Rotated" as const }
    : undefined;
}

/** Otherwise a refused Secret would hold a password that no longer works after the reset. @throws KubernetesError */
export async function trySecret(
  { secrets }: AccessContext,
  observation: AccessObservation,
): Promise<AppliedSecret | undefined> {
  const { secret } = observation;
  const wanted = wantedSecret(observation, bindingData(observation, trialPassword));
  try {
    await secrets.tryWrite(wanted, secret.kind === "Own" ? secret.secret : undefined);
    return undefined;
  } catch (error) {
    return forbidden(error);
  }
}

/** Stands for the password that the control plane makes next. */
const trialPassword = "x".repeat(32);

function wantedSecret({ resource, spec }: AccessObservation, data: SecretData): WantedSecret {
  const { labels = {}, annotations = {} } = spec.secret ?? {};
  const owner = { apiVersion: `${group}/${version}`, kind: resource.kind, name: resource.key.name, uid: resource.uid };
  return { key: secretKeyOf(resource), type: bindingSecretType, owner, labels, annotations, data };
}

function forbidden(error: unknown): AppliedSecret {
  if (error instanceof KubernetesError && error.reason === "Forbidden") {
    return { kind: "Forbidden" };
  }
  throw error;
}
