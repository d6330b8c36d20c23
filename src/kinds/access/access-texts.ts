/** The texts of a DatabaseAccess: waits and stalls. */
import type { ControlPlaneError } from "../../domain/control-plane-error.ts";
import { allowSecretsCommand } from "../../domain/resource-store.ts";
import { type CommonPlanOf, stall } from "../../engine/kind.ts";
import type { Wording } from "../../engine/summary.ts";
import type { AccessProgressReason } from "../../resource/conditions.ts";
import { type DatabaseAccess, secretKeyOf } from "../../resource/database-access.ts";
import type { DatabaseAccessSpec } from "../../resource/database-access-schema.ts";
import { annotations } from "../../resource/names.ts";

type Wait = CommonPlanOf<"Wait">;

const wait = (reason: AccessProgressReason, message: string, waitMs?: number): Wait => ({
  kind: "Wait",
  reason,
  message,
  waitMs,
});

export const accessWording: Wording = {
  deleting: "The operator deletes what this resource created, and then the Secret.",
  deletionRemedy:
    "To remove this resource without deleting role and database, set both deletionPolicy fields to Retain.",
};

export const waits = {
  configuration: (waitMs: number) =>
    wait("OperationInFlight", "Waiting for apply_config to end: it creates role and database in PostgreSQL.", waitMs),
  endpointNotFound: (name: string) =>
    wait(
      "EndpointNotFound",
      `There is no ComputeEndpoint ${name} in this namespace. The operator continues when it exists.`,
    ),
  branch: (name: string) =>
    wait(
      "WaitingForBranch",
      `DatabaseBranch ${name} of the ComputeEndpoint is not ready. The operator continues when it is.`,
    ),
  endpoint: (name: string, waitMs?: number) =>
    wait(
      "WaitingForEndpoint",
      `ComputeEndpoint ${name} has no endpoint yet. The operator continues when it has one.`,
      waitMs,
    ),
  deleting: (waitMs: number) => wait("Deleting", accessWording.deleting, waitMs),
} as const;

export const stalls = {
  secretExists: (resource: DatabaseAccess) =>
    stall(
      "SecretExists",
      `A Secret ${secretKeyOf(resource).name} exists and does not belong to this resource, so the operator does not change it. Delete that Secret, or create this resource with another spec.secret.name.`,
    ),
  secretsForbidden: ({ key }: DatabaseAccess, account: string) =>
    stall(
      "SecretsForbidden",
      `The operator lacks the right to get, create, patch and delete Secrets in this namespace. Allow it with: ${allowSecretsCommand(key.namespace, account)}`,
    ),
  roleNotFound: ({ role }: DatabaseAccessSpec, branchId: string) =>
    stall(
      "RoleNotFound",
      `Branch ${branchId} has no role ${role.name}. ${
        role.policy === "MustExist"
          ? "Create the role, or set spec.role.policy to CreateIfAbsent."
          : "The control plane has no call that sets a given password: create the role with that password, or remove spec.password.secretRef."
      }`,
    ),
  databaseNotFound: (name: string, branchId: string) =>
    stall(
      "DatabaseNotFound",
      `Branch ${branchId} has no database ${name}. Create the database, or set spec.database.policy to CreateIfAbsent.`,
    ),
  databaseOwnedByAnother: (name: string, owner: string) =>
    stall(
      "DatabaseOwnedByAnother",
      `Database ${name} belongs to role ${owner}. Grant this role its privileges in SQL and set spec.database.policy to MustExist, or use the role ${owner}.`,
    ),
  passwordUnavailable: (role: string) =>
    stall(
      "PasswordUnavailable",
      `The control plane does not reveal the password of role ${role}. For a new password, annotate this resource with ${annotations.rotateRequestedAt}=<any new value>. To give the password yourself, set spec.password.secretRef.`,
    ),
  passwordMissing: ({ password }: DatabaseAccessSpec) =>
    stall(
      "PasswordMissing",
      `Secret ${password?.secretRef?.name ?? ""} has no key ${password?.secretRef?.key ?? ""}. Create the Secret with that key. The operator checks again within a minute.`,
    ),
  endpointUnproven: (name: string) =>
    stall(
      "IdentityUnproven",
      `The ownership record of ComputeEndpoint ${name} was made for another resource, cluster or control plane. So the operator reads and changes nothing for this resource. Look at the condition Stalled of that ComputeEndpoint.`,
    ),
  roleInUse: (role: string, { message }: ControlPlaneError) =>
    stall(
      "RoleInUse",
      `${message}. Role ${role} still owns objects. Reassign them, or set spec.role.deletionPolicy to Retain.`,
    ),
} as const;
