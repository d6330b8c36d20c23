import { z } from "zod";
import { type CelRule, celRules, controlPlaneRef, identifier, optional, withRules } from "./spec-schema.ts";
import {
  conditionsSchema,
  lastHandled,
  observedGeneration,
  recordedPlane,
  shownOperations,
  time,
} from "./status-schema.ts";

/** A rule of spec: the field can be neither changed, added nor removed. */
const fixed = (field: string): CelRule => ({
  rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
  message: `${field} cannot be changed; create another DatabaseBranch instead`,
});

const branchName = () => z.string().min(1).max(256);

const parent = withRules(
  z
    .object({
      name: optional(branchName(), "Name of the parent in the control plane."),
      branchId: optional(identifier(), "Id of the parent in the control plane."),
    })
    .describe("The branch whose data is copied. Absent: the default branch of the project."),
  {
    rule: "has(self.name) != has(self.branchId)",
    holds: ({ name, branchId }) => (name === undefined) !== (branchId === undefined),
    message: "exactly one of name and branchId is required",
  },
);

/** Of the whole resource: its name is part of other names. */
export const branchNameRule: CelRule = {
  rule: "size(self.metadata.name) <= 63",
  message: "the name must not be longer than 63 characters",
};

export const databaseBranchSpecSchema = z
  .object({
    projectId: identifier().describe("Id of the project in the control plane. Cannot be changed."),
    name: optional(
      branchName(),
      "Name of the branch in the control plane. Absent: namespace, name and a token of the cluster. Cannot be changed.",
    ),
    parent: optional(
      parent,
      "The branch whose data is copied. Absent: the project's default branch. Cannot be changed.",
    ),
    parentTime: optional(
      z.iso.datetime({ offset: true }).max(64),
      "The time of the parent's data, within its history. Absent: now. Cannot be changed.",
    ),
    initSource: optional(
      z.enum(["ParentData", "SchemaOnly"]),
      "SchemaOnly: a root branch with the parent's schema and without its rows. Absent: ParentData. Cannot be changed.",
    ),
    leaseDurationSeconds: optional(
      z.int().min(3_600).max(2_592_000),
      "The control plane deletes the branch so long after the operator last renewed this lease, for instance because the cluster is gone. Absent: it never expires.",
    ),
    deletionPolicy: optional(
      z.enum(["Delete", "Retain"]),
      "What happens to the branch when this resource is deleted. Delete: it is deleted with its data and endpoints. Retain: it stays, until its lease ends. Absent: Delete.",
    ),
    controlPlaneRef: controlPlaneRef.optional(),
  })
  .describe("The branch as it should be.")
  .meta(celRules(...["projectId", "name", "parent", "parentTime", "initSource", "controlPlaneRef"].map(fixed)));

const records = {
  serviceUrl: z.string().describe("The control plane that knows the branch."),
  controlPlane: recordedPlane(),
  projectId: z.string().describe("The project of the branch."),
};

const ownership = z
  .object({
    branchId: z.string().min(1).describe("The branch that this resource owns."),
    resourceUid: z.string().describe("The uid of this resource when the record was made."),
    clusterId: z.string().describe("The cluster in which the record was made."),
    ...records,
  })
  .describe(
    "Proof of ownership. If it does not match this resource, cluster and control plane, nothing is changed there.",
  );

const createIntent = z
  .object({
    attempt: z.string().min(1).describe("Names this intent."),
    token: z.string().min(1).describe("The token of the branch that this create makes."),
    name: z.string().describe("The name that the branch gets."),
    ...records,
  })
  .describe("A create that has no result yet. The operator writes it before it sends the request.");

const resetIntent = z
  .object({
    value: z.string().describe("The value of reset-requested-at that asked for it."),
    lastResetTime: time("When the branch was last reset before.").optional(),
  })
  .describe("Present only while a reset is open. The operator writes it before it sends the request.");

export const databaseBranchStatusSchema = z
  .object({
    observedGeneration: observedGeneration(),
    branchId: optional(z.string(), "Id of the branch."),
    state: optional(z.string(), "State of the branch in the control plane's own word, for instance ready."),
    parentId: optional(z.string(), "Id of the parent. Absent: a root branch."),
    expiresTime: time("When the control plane deletes the branch, unless the lease is renewed before.").optional(),
    lastResetTime: time("When the branch last got the parent's data anew.").optional(),
    logicalSizeBytes: optional(z.number(), "Size of the data. It is written together with other changes, never alone."),
    operations: shownOperations(),
    ownership: ownership.optional(),
    createIntent: createIntent.optional(),
    resetIntent: resetIntent.optional(),
    lastHandledReconcileAt: lastHandled("reconcile-requested-at"),
    lastHandledResetAt: lastHandled("reset-requested-at"),
    conditions: conditionsSchema.optional(),
  })
  .describe("The branch as the control plane showed it, and the operator's progress.");

export type DatabaseBranchSpec = z.output<typeof databaseBranchSpecSchema>;
export type DatabaseBranchStatus = z.output<typeof databaseBranchStatusSchema>;
export type BranchIntent = z.output<typeof createIntent>;
export type ResetIntent = z.output<typeof resetIntent>;
