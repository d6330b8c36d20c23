import { conditionOf } from "../resource/conditions.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessContext } from "./access-context.ts";
import { isSecretUntouched, type SecretFacts } from "./access-observation.ts";
import { readOwnSecret } from "./observe-access.ts";
import { isRotationAsked, rotationDueMs } from "./plan-access.ts";

/**
 * Whether the Secrets of a resource have not changed since its last comparison with the control plane, and no rotation
 * is due. If so, the control plane is not read before the next resync.
 * @throws KubernetesError
 */
export async function isUnchangedInKubernetes(context: AccessContext, resource: DatabaseAccess): Promise<boolean> {
  if (isRotating(resource, context.clock.nowMs())) {
    return false;
  }
  const secret = await readOwnSecret(context.secrets, resource);
  const stalled = conditionOf(resource.status.conditions, "Stalled");
  switch (stalled?.reason) {
    case undefined:
      return isSecretUntouched({ secret, resource }) && (await isGivenPasswordSame(context, resource, secret));
    case "SecretExists":
      return secret.kind === "Foreign";
    case "SecretsForbidden":
      // If reading is allowed, the right to create was missing. Only a try shows whether the operator has it by now.
      return secret.kind === "Forbidden";
    case "PasswordMissing":
      return false;
    default:
      return true;
  }
}

function isRotating(resource: DatabaseAccess, nowMs: number): boolean {
  const afterSeconds = resource.spec.kind === "Valid" ? resource.spec.spec.password?.rotateAfterSeconds : undefined;
  const dueMs = rotationDueMs(resource, afterSeconds);
  return isRotationAsked(resource) || (dueMs !== undefined && dueMs <= nowMs);
}

async function isGivenPasswordSame(
  { secrets }: AccessContext,
  { key, spec }: DatabaseAccess,
  secret: SecretFacts,
): Promise<boolean> {
  const ref = spec.kind === "Valid" ? spec.spec.password?.secretRef : undefined;
  if (ref === undefined) {
    return true;
  }
  const given = await secrets.read({ namespace: key.namespace, name: ref.name });
  return secret.kind === "Own" && given?.data[ref.key] === secret.secret.data.password;
}
