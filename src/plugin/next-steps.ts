import type { ConditionReason } from "../resource/conditions.ts";

/** What a person can do about each reason. Pages of docs/ say more. */
export const nextSteps: Readonly<Record<ConditionReason, string>> = {
  UpToDate: "Nothing to do.",
  NoFailure: "Nothing to do.",
  Accepted: "Nothing to do.",
  OperationFailed:
    "Read the message of LastOperationSucceeded. Start the compute or change spec; if nothing will repeat the operation, acknowledge it.",
  Adopting: "Wait; it ends by itself.",
  Creating: "Wait. If it lasts, read the operator's log.",
  CreateUnresolved: "Wait; it ends by itself within CREATE_SETTLE_SECONDS.",
  Deleting: 'Wait. If it lasts, see docs/using.md, "Deletion that does not end".',
  Forgetting: "Find out who deletes the endpoint; the operator creates another one.",
  Moving: "Wait. If it lasts, look at the operation at the control plane.",
  OperationInFlight: "Wait. If it lasts, look at the operation at the control plane.",
  Paused: "Remove the annotation endpoint-operator.dev/paused.",
  Retrying: "Wait; the message says what for.",
  ServiceUnavailable: "Check the control plane, and the network between it and the operator.",
  Throttled: "Raise the limit, or give the operator an API key of its own.",
  Unauthorized: "Replace the API key in its Secret; the operator reads it again by itself.",
  UnreadableAnswer: "Check CONTROL_PLANE_URL and the proxies in between.",
  Updating: "Wait. If it lasts, look at the operation at the control plane.",
  WaitingForProject: "Wait. If it lasts, look for an operation of the project that does not end.",
  AdoptionMismatch: "Make spec say what the endpoint is, or name another endpoint.",
  AdoptionTargetMissing: "Correct spec.adoption.endpointId, or set spec.adoption.policy to AdoptOrCreate.",
  BranchNotFound: "Create the branch, or correct spec.branchId.",
  BranchOccupied: "Delete the endpoint of that branch, or choose another branch.",
  ClaimedByAnother: "Delete one of the two resources; the other goes on by itself.",
  CreateAmbiguous:
    "Say which endpoint is yours: annotate with resolve-create=adopt=ID or resolve-create=abandon=ATTEMPT.",
  DriftPersists: "Set the fields to what the control plane shows, or remove them from spec.",
  EndpointExists: "Add the lines that the message names to spec, or delete that endpoint.",
  EndpointGone: "Delete this resource; for a new endpoint create one without spec.adoption.",
  Forbidden: "Give the API key the permission, or use another key.",
  IdentityUnproven:
    "Start the operator with the URL and CLUSTER_ID of the record, or delete the resource with deletionPolicy Retain and create it again with spec.adoption.",
  InvalidSpec: "Apply a corrected spec.",
  OwnedElsewhere:
    "Make sure that nothing else manages the endpoint, then set spec.adoption.takeOver: true; or choose another branch.",
  OwnershipConflict: "Set spec.deletionPolicy: Retain on one of the two resources and delete that one.",
  ProjectLocked: "Look at the operation that locks the project; the operator tries again by itself.",
  ProjectNotFound: "Make sure that the project exists and that the API key may see it.",
  ProjectNotGranted:
    "Ask an administrator of the cluster to add the project to the annotation endpoint-operator.dev/projects of the Namespace.",
  Rejected: "Change spec, or raise the limit; the message has the control plane's words.",
};
