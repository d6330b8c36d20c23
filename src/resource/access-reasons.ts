/** Why a person must act on a DatabaseAccess. Each comes with a message that says exactly what to do. */
export const accessStallReasons = [
  "BranchNotFound",
  "DatabaseNotFound",
  "DatabaseOwnedByAnother",
  "Forbidden",
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

/** Why work on a DatabaseAccess is still going on, or why it cannot go on right now. */
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
