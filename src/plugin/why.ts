import type { ResourceKey } from "../domain/resource-store.ts";
import { accessRemedies, remedies } from "../engine/failures.ts";
import {
  type AccessProgressReason,
  type AccessStallReason,
  type ConditionReason,
  conditionOf,
  isTrue,
  type PlaneReason,
} from "../resource/conditions.ts";
import type { ComputeEndpointStatus, Condition } from "../resource/status-schema.ts";

/** `goesOn`: the operator still has work. `personMustAct`: the operator waits for a person. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, goesOn: 3, personMustAct: 4 } as const;

interface Explanation {
  readonly resource: string;
  readonly ready: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly nextStep: string;
  /** What the resource waits for. `Nothing`: it is Ready. */
  readonly waitsFor: "Nothing" | "Operator" | "Person";
  /** When the decisive condition last changed, RFC 3339; `undefined`: not known. */
  readonly since: string | undefined;
  /** The unfinished operations, as `action (status)`. */
  readonly inFlight: readonly string[];
}

interface Explained {
  readonly key: ResourceKey;
  readonly status: Partial<Pick<ComputeEndpointStatus, "conditions" | "operations">>;
}

/** Explains a resource from its status alone. `nextSteps`: by the reason of the condition. Pure. */
export function explain(resource: Explained, nextSteps: Readonly<Record<string, string>>): Explanation {
  const { conditions } = resource.status;
  const { namespace } = resource.key;
  const name = `${namespace === "" ? "" : `${namespace}/`}${resource.key.name}`;
  const inFlight = (resource.status.operations ?? [])
    .filter(({ durationMilliseconds }) => durationMilliseconds === undefined)
    .map(({ action, status }) => `${action} (${status})`);
  const ready = conditionOf(conditions, "Ready");
  const decisive = decisiveOf(resource);
  if (ready === undefined || decisive === undefined) {
    const message = "The operator has not looked at this resource yet.";
    const nextStep = "Wait a moment. If it lasts, see whether the operator runs and watches this namespace.";
    return {
      ...{ resource: name, ready: "Unknown", reason: "NotObserved", message, nextStep },
      ...{ waitsFor: "Operator", since: undefined, inFlight },
    };
  }
  return {
    ...{ resource: name, ready: ready.status, reason: decisive.reason, message: decisive.message },
    nextStep: nextSteps[decisive.reason] ?? "See docs/conditions.md of the operator's version.",
    waitsFor: waitsFor(resource, decisive),
    since: decisive.lastTransitionTime,
    inFlight,
  };
}

/** Stalled if True, else a deletion that waits (`InUse`), else a failed operation of a Ready resource, else Ready. */
function decisiveOf({ status: { conditions } }: Explained): Condition | undefined {
  const stalled = conditionOf(conditions, "Stalled");
  if (stalled?.status === "True") return stalled;
  const reconciling = conditionOf(conditions, "Reconciling");
  if (reconciling?.reason === "InUse") return reconciling;
  const failed = conditionOf(conditions, "LastOperationSucceeded");
  const isReady = isTrue(conditions, "Ready");
  return isReady && failed?.status === "False" ? failed : conditionOf(conditions, "Ready");
}

/** Reasons of conditions other than Stalled that need a person. The operator also tries again. */
const personReasons: ReadonlySet<string> = new Set(["Unauthorized", "Paused", "OperationFailed"]);

function waitsFor({ status: { conditions } }: Explained, { type, reason }: Condition): Explanation["waitsFor"] {
  if (type === "Stalled" || personReasons.has(reason)) return "Person";
  if (type === "Reconciling") return "Operator";
  return isTrue(conditions, "Ready") ? "Nothing" : "Operator";
}

export function exitCodeOf({ waitsFor }: Explanation): number {
  return { Nothing: exitCodes.ok, Operator: exitCodes.goesOn, Person: exitCodes.personMustAct }[waitsFor];
}

export function explanationText(explanation: Explanation): string {
  const { resource, ready, reason, message, nextStep, since, inFlight } = explanation;
  const lines = [
    `${resource}: Ready=${ready} ${reason}${since === undefined ? "" : ` since ${since}`}`,
    `  ${message}`,
    ...(inFlight.length > 0 ? [`  in flight: ${inFlight.join(", ")}`] : []),
    `  next: ${nextStep}`,
  ];
  return `${lines.join("\n")}\n`;
}

const commonNextSteps = {
  UpToDate: "Nothing to do.",
  OperationInFlight: "Wait. If it lasts, look at the operation in the control plane.",
  Paused: "Remove the annotation endpoint-operator.dev/paused.",
  Retrying: "Wait. The message says why.",
  ServiceUnavailable: "Check the control plane, and the network between it and the operator.",
  Throttled: "Raise the limit, or give the operator an API key of its own.",
  Unauthorized: "Replace the API key in its Secret; the operator reads it again by itself.",
  UnreadableAnswer: "Check CONTROL_PLANE_URL and the proxies in between.",
  InvalidSpec: "Apply a corrected spec.",
  ProjectNotGranted:
    "Ask an administrator of the cluster to add the project to the annotation endpoint-operator.dev/projects of the Namespace, or to spec.projects of the ClusterControlPlane if it has that list.",
  WriteRefused: "Correct what the API server names: an admission policy or a quota.",
} as const satisfies Partial<Record<ConditionReason & (AccessProgressReason | AccessStallReason | "UpToDate"), string>>;

export const nextSteps: Readonly<Record<ConditionReason, string>> = {
  ...commonNextSteps,
  ...remedies,
  NoFailure: "Nothing to do.",
  Accepted: "Nothing to do.",
  OperationFailed:
    "Read the message of LastOperationSucceeded. Start the compute or change spec; if nothing will repeat the operation, acknowledge it.",
  Adopting: "Wait. This state ends by itself.",
  Creating: "Wait. If it lasts, read the operator's log.",
  CreateUnresolved: "Wait. This state ends by itself within CREATE_SETTLE_SECONDS.",
  Deleting: 'Wait. If it lasts, see docs/troubleshooting.md, "A deletion hangs".',
  Forgetting: "Find out which client deletes the endpoint. The operator creates another one.",
  Moving: "Wait. If it lasts, look at the operation in the control plane.",
  Updating: "Wait. If it lasts, look at the operation in the control plane.",
  WaitingForProject: "Wait. If it lasts, look for an operation of the project that does not end.",
  AdoptionMismatch: "Change spec to match the endpoint, or name another endpoint.",
  AdoptionTargetMissing: "Correct spec.adoption.endpointId, or set spec.adoption.policy to AdoptOrCreate.",
  ClaimedByAnother: "Delete one of the two resources. The operator then continues with the other.",
  ControlPlaneNotFound: "Create the control plane that spec.controlPlaneRef names, or correct the reference.",
  ControlPlaneNotReady: "Look at the control plane that spec.controlPlaneRef names: kubectl describe it.",
  CreateAmbiguous:
    "Say which endpoint is yours: annotate with resolve-create=adopt=ID or resolve-create=abandon=ATTEMPT.",
  DriftPersists: "Set the fields to what the control plane shows, or remove them from spec.",
  EndpointExists: "Add the lines that the message names to spec, or delete that endpoint.",
  EndpointGone: "Delete this resource; for a new endpoint create one without spec.adoption.",
  IdentityUnproven:
    "Start the operator with the URL and CLUSTER_ID of the record, or delete the resource with deletionPolicy Retain and create it again with spec.adoption.",
  OwnedElsewhere:
    "Make sure that nothing else manages the endpoint, then set spec.adoption.takeOver: true; or choose another branch.",
  OwnershipConflict: "Set spec.deletionPolicy: Retain on one of the two resources and delete that one.",
};

export const accessNextSteps: Readonly<Record<AccessProgressReason | AccessStallReason | "UpToDate", string>> = {
  ...commonNextSteps,
  ...accessRemedies,
  CreatingDatabase: "Wait. This state ends by itself.",
  CreatingRole: "Wait. This state ends by itself.",
  Deleting: "Wait. If it lasts, read the message.",
  EndpointNotFound: "Create the ComputeEndpoint that spec.endpointRef names.",
  WaitingForEndpoint: "Look at the ComputeEndpoint: kubectl endpoints why with its name.",
  WaitingForProject: "Wait. This state ends by itself.",
  ControlPlaneNotFound: "Create the control plane that spec.controlPlaneRef of the ComputeEndpoint names.",
  ControlPlaneNotReady: "Look at the control plane that spec.controlPlaneRef of the ComputeEndpoint names.",
  DatabaseNotFound: "Create the database, or set spec.database.policy to CreateIfAbsent.",
  DatabaseOwnedByAnother:
    "Grant privileges in SQL and set spec.database.policy to MustExist, or name the role that owns the database.",
  IdentityUnproven:
    "Restore the control plane and the URL that the message names. Or delete the resource with both deletionPolicy fields set to Retain.",
  PasswordMissing: "Create the Secret of spec.password.secretRef, with its key.",
  PasswordUnavailable: "Annotate with endpoint-operator.dev/rotate-requested-at, or set spec.password.secretRef.",
  RoleInUse: "Reassign what the role owns, or set spec.role.deletionPolicy to Retain.",
  RoleNotFound: "Create the role, or set spec.role.policy to CreateIfAbsent.",
  SecretExists: "Delete that Secret, or name another one in spec.secret.name.",
  SecretRefused: "Correct what the API server names: a policy, a quota, or a Secret that is immutable.",
  SecretsForbidden: "Run the kubectl create rolebinding command of the message.",
};

export const planeNextSteps: Readonly<Record<PlaneReason, string>> = {
  CertificateAuthorityMissing: "Put a PEM certificate into the Secret of spec.connection.caSecretRef.",
  InUse: "Delete the resources that use this control plane, with deletionPolicy Retain to keep their endpoints.",
  InvalidSpec: "Apply a corrected spec.",
  KeyAccepted: "Nothing to do.",
  KeyNotUsedYet: "Nothing to do. The first resource that names this control plane uses the key.",
  SecretForbidden: "Run the kubectl create rolebinding command of the message.",
  SecretInvalid: "Correct the value in the Secret.",
  SecretKeyNotFound: "Add the key to the Secret, or correct spec.",
  SecretNotFound: "Create the Secret with the key that spec names.",
  SecretUnreadable: "Wait. The operator reads the Secret again by itself.",
  ServiceUnavailable: "Check the control plane, and the network between it and the operator.",
  Throttled: "Set spec.requestsPerMinute to a smaller number, or raise the limit at the control plane.",
  Unauthorized: "Replace the key in its Secret; the operator reads it again by itself.",
  UnreadableAnswer: "Check spec.url.",
  WriteRefused: "Correct what the API server names: an admission policy or a quota.",
};
