/** Stalled reasons of a DatabaseAccess: a person must act. Each message says what to do. */
export const accessStallReasons = [
  "BranchNotFound",
  "ControlPlaneNotFound",
  "ControlPlaneNotReady",
  "DatabaseNotFound",
  "DatabaseOwnedByAnother",
  "Forbidden",
  "IdentityUnproven",
  "InvalidSpec",
  "PasswordMissing",
  "PasswordUnavailable",
  "ProjectLocked",
  "ProjectNotFound",
  "ProjectNotGranted",
  "Rejected",
  "RoleInUse",
  "RoleNotFound",
  "SecretExists",
  "SecretsForbidden",
] as const;
export type AccessStallReason = (typeof accessStallReasons)[number];

/** Reasons of a DatabaseAccess whose work goes on, or cannot go on at present. */
export const accessProgressReasons = [
  "CreatingDatabase",
  "CreatingRole",
  "Deleting",
  "EndpointNotFound",
  "OperationInFlight",
  "Paused",
  "Retrying",
  "ServiceUnavailable",
  "Throttled",
  "Unauthorized",
  "UnreadableAnswer",
  "WaitingForEndpoint",
  "WaitingForProject",
] as const;
export type AccessProgressReason = (typeof accessProgressReasons)[number];
