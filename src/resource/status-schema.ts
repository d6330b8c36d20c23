import { z } from "zod";
import { mapBy, optional } from "./spec-schema.ts";

export const time = (description: string) => z.string().describe(description);

export const observedGeneration = () =>
  optional(z.int(), "The generation of spec that this status describes; -1: no operator has seen the resource.");

export const lastHandled = (annotation: string) =>
  optional(z.string(), `The last value of ${annotation} that was handled.`);

export const recordedPlane = () =>
  optional(z.string(), "The resource that describes that control plane. Absent: the operator's settings do.");

const ownership = z
  .object({
    endpointId: z.string().min(1).describe("The endpoint this resource owns."),
    origin: z
      .enum(["Created", "Adopted", "Presumed"])
      .describe(
        "Created: this resource created it. Adopted: it existed before. Presumed: the answer to the create was lost, and exactly one endpoint can be its result.",
      ),
    resourceUid: z.string().describe("The uid of this resource when the record was made."),
    clusterId: z.string().describe("The cluster in which the record was made."),
    serviceUrl: z.string().describe("The control plane that knows the endpoint."),
    controlPlane: recordedPlane(),
    projectId: z.string().describe("The project of the endpoint."),
  })
  .describe(
    "Proof of ownership. If it does not match this resource, cluster and control plane, the operator changes nothing in the control plane.",
  );

const createIntent = z
  .object({
    attempt: z.string().min(1).describe("Names this intent in the annotation resolve-create."),
    token: z.string().min(1).describe("The token in the name of the endpoint that this create makes."),
    serviceUrl: z.string().describe("The control plane the create was meant for."),
    controlPlane: recordedPlane(),
    projectId: z.string().describe("The project the create was meant for."),
    branchId: z.string().describe("The branch the create was meant for."),
    type: z.enum(["ReadWrite", "ReadOnly"]).describe("The type of endpoint it asks for."),
    preIds: z.array(z.string()).describe("Endpoints of the branch and type that existed before."),
  })
  .describe("A create that has no result yet. The operator writes it before it sends the request.");

const operation = z.object({
  id: z.string().describe("The operation's id in the control plane."),
  action: z.string().describe("What the operation does, for instance start_compute."),
  status: z.string().describe("The control plane's own word: scheduling, running, finished, failed and more."),
  failuresCount: optional(z.int(), "How often the operation has failed."),
  cause: z
    .enum(["SpecChange", "Drift", "ControlPlane", "Other"])
    .describe(
      "SpecChange: a request of the operator. Drift: the operator set back a change by another client. ControlPlane: the control plane itself. Other: another client, or the operator's own work for a DatabaseAccess.",
    ),
  createdTime: time("When the control plane created the operation."),
  updatedTime: time("When the control plane last changed the operation."),
  durationMilliseconds: optional(z.int(), "How long the operation took. Absent while it runs."),
  error: optional(z.string(), "The control plane's text on a failure, shortened."),
});

export const shownOperations = () =>
  optional(z.array(operation), "The operations in flight, then the five most recent ones. At most twenty.");

const bookkeeping = z
  .object({
    acknowledged: optional(z.string(), "The last request that the control plane accepted for this spec."),
    operationWatermark: optional(z.string(), "How far the operation log has been counted."),
  })
  .describe("What the operator stores for itself, as JSON. No person needs it.");

/** The maximum number of fields in `drift`. */
export const driftLimit = 32;

const fieldDifference = z.object({
  field: z.string().describe("The field by its path, for instance spec.settings.pgSettings.work_mem."),
  actual: optional(z.string(), "The value that the control plane shows. Absent: it shows none."),
  desired: optional(z.string(), "The value that spec or the active schedule asks for. Absent: none."),
});

const pendingChange = z
  .object({
    fields: z.array(fieldDifference).describe("The fields that wait.").meta(mapBy("field")),
    hash: z.string().describe("Value for the annotation approve-change. It approves this change once."),
    sinceTime: time("Since when the change waits. Another desired value begins a new wait."),
    nextTime: time("When the next window opens, or forceAfterSeconds ends the wait, whichever is earlier.").optional(),
  })
  .describe("A change that drops connections, and that spec.disruption holds back.");
const usage = z
  .object({
    sinceTime: time("From when it is counted: the endpoint's creation, or when the operator first saw an older one."),
    asOfTime: time("Until when it is counted: the last start or suspend, by the control plane's clock."),
    isActive: z.boolean().describe("Whether the compute has run since asOfTime. That time is not counted yet."),
    activeSeconds: z.number().describe("How long the compute ran."),
    minUnitSeconds: z.number().describe("The same, times the smallest size in compute units."),
    maxUnitSeconds: z.number().describe("The same, times the largest size. The control plane counts between both."),
    starts: z.int().describe("How often the compute started."),
  })
  .describe("An estimate of what the endpoint used, from the operation log. It is no bill: see docs/cost.md.");

const condition = z.object({
  type: z
    .string()
    .describe("Ready, Reconciling, Stalled, LastOperationSucceeded, CredentialsValid, ChangePending or InSync."),
  status: z.enum(["True", "False", "Unknown"]).describe("Whether the condition holds."),
  observedGeneration: z.int().describe("The generation of spec that the condition describes."),
  lastTransitionTime: time("When status last changed."),
  reason: z.string().describe("One word for programs; each is listed in docs/conditions.md."),
  message: z.string().describe("One line for people. With Stalled it says what to do."),
});

export const conditionsSchema = z
  .array(condition)
  .describe("Ready sums up the others. Reconciling, Stalled and ChangePending are present only while they are True.")
  .meta(mapBy("type"));

/** Values of the control plane are open strings, so that a new value never breaks a patch. */
export const statusSchema = z
  .object({
    observedGeneration: observedGeneration(),
    ownership: ownership.optional(),
    createIntent: createIntent.optional(),
    branchId: optional(z.string(), "Id of the branch that the endpoint serves."),
    host: optional(z.string(), "Direct host name."),
    poolerHost: optional(z.string(), "Host name that goes through the connection pooler."),
    state: optional(z.string(), "State of the compute in the control plane's own word, for instance active or idle."),
    pendingState: optional(z.string(), "The state to which the compute is changing."),
    compute: optional(
      z.object({
        minUnits: z.number().describe("Smallest size."),
        maxUnits: z.number().describe("Largest size."),
        size: z.string().describe("Both limits for people, for instance 0.25-2."),
        maxConnections: optional(z.int(), "Follows minUnits; absent above 8 units."),
      }),
      "Size in compute units, as the control plane shows it.",
    ),
    lastActiveTime: optional(
      z.string(),
      "When the compute was last active. It is written together with other changes, never alone.",
    ),
    operations: shownOperations(),
    failedActions: optional(
      z.array(
        z.object({
          action: z.string().describe("The action that failed, for instance start_compute."),
          operationId: z.string().describe("Value for the annotation acknowledge-operation."),
          time: time("When it failed, by the control plane's clock."),
          error: optional(z.string(), "The control plane's text on the failure, shortened."),
        }),
      ),
      "Failures that no later success of the same action has cleared.",
    ),
    bookkeeping: bookkeeping.optional(),
    pendingChange: pendingChange.optional(),
    drift: optional(
      z.array(fieldDifference),
      `The managed fields in which the endpoint differs from spec, at most ${driftLimit}.`,
    ).meta(mapBy("field")),
    activeSchedule: optional(z.string(), "The schedule that counts now. Absent: none."),
    nextScheduleTime: time("When the next schedule begins or ends.").optional(),
    usage: usage.optional(),
    lastHandledReconcileAt: lastHandled("reconcile-requested-at"),
    lastHandledWakeAt: lastHandled("wake-requested-at"),
    lastHandledSuspendAt: lastHandled("suspend-requested-at"),
    lastHandledApproval: lastHandled("approve-change"),
    conditions: conditionsSchema.optional(),
  })
  .describe("The endpoint as the control plane showed it, and the operator's progress.");

export type ComputeEndpointStatus = z.output<typeof statusSchema>;
export type Ownership = z.output<typeof ownership>;
export type CreateIntent = z.output<typeof createIntent>;
export type FieldDifference = z.output<typeof fieldDifference>;
export type PendingChange = z.output<typeof pendingChange>;
export type StatusOperation = z.output<typeof operation>;
export type Bookkeeping = z.output<typeof bookkeeping>;
export type Condition = z.output<typeof condition>;
