import { z } from "zod";

const time = (description: string) => z.string().describe(description);

const ownership = z
  .object({
    endpointId: z.string().min(1).describe("The endpoint this resource owns."),
    origin: z
      .enum(["Created", "Adopted", "Presumed"])
      .describe(
        "Created by this resource, adopted with consent, or presumed ours after a create whose answer was lost.",
      ),
    resourceUid: z.string().describe("The uid of this resource when the record was made."),
    clusterId: z.string().describe("The cluster in which the record was made."),
    serviceUrl: z.string().describe("The control plane that knows the endpoint."),
    projectId: z.string().describe("The project of the endpoint."),
  })
  .describe("Proof of ownership. If it does not match this resource, cluster and service, nothing outside is touched.");

const createIntent = z
  .object({
    attempt: z.string().min(1).describe("Names this intent in the annotation resolve-create."),
    token: z.string().min(1).describe("The mark in the name of the endpoint that this create makes."),
    serviceUrl: z.string(),
    projectId: z.string(),
    branchId: z.string(),
    type: z.enum(["ReadWrite", "ReadOnly"]),
    bodyHash: z.string().describe("Hash of the request."),
    preIds: z.array(z.string()).describe("Endpoints of the branch that were there before."),
    suspectIds: z.array(z.string()).optional().describe("Endpoints that may be the one this create made."),
    time: time("When the intent was recorded."),
  })
  .describe("Present only while a create is unresolved: written before the request is sent.");

const operation = z.object({
  id: z.string(),
  action: z.string(),
  status: z.string(),
  failuresCount: z.int().optional(),
  cause: z
    .enum(["SpecChange", "ControlPlane", "Other"])
    .describe("Our own request, the service itself, or somebody else."),
  createdTime: z.string(),
  updatedTime: z.string(),
  durationMilliseconds: z.int().optional().describe("Only of an ended operation."),
  error: z.string().optional().describe("The service's words, shortened."),
});

const acknowledged = z
  .object({
    generation: z.int(),
    hash: z.string().describe("Hash of the managed fields that the service accepted."),
    fields: z.array(z.string()).describe("The managed fields, so that a removed one is noticed."),
    attempts: z.int().describe("How often they were sent since they last matched."),
    matched: z.boolean().describe("Whether they were seen to match since."),
    time: time("When they were accepted."),
  })
  .describe("The last request that the service accepted for this spec.");

const operationWatermark = z
  .object({
    createdTime: z.string(),
    ids: z.array(z.string()),
    unfinishedIds: z.array(z.string()),
  })
  .describe("How far the operation log has been counted.");

const condition = z.object({
  type: z.string(),
  status: z.enum(["True", "False", "Unknown"]),
  observedGeneration: z.int(),
  lastTransitionTime: z.string(),
  reason: z.string(),
  message: z.string(),
});

/** What the operator knows and shows. Values of the service are open strings, so a new one never breaks a patch. */
export const statusSchema = z
  .object({
    observedGeneration: z.int().optional().describe("The generation this status speaks of; -1: not looked at yet."),
    ownership: ownership.optional(),
    createIntent: createIntent.optional(),
    host: z.string().optional().describe("Direct host name."),
    poolerHost: z.string().optional().describe("Host name that goes through the connection pooler."),
    state: z.string().optional().describe("As the service says it, for instance active or idle."),
    pendingState: z.string().optional().describe("The state the endpoint is moving to."),
    compute: z
      .object({
        minUnits: z.number(),
        maxUnits: z.number(),
        size: z.string().describe("Both limits for people, for instance 0.25-2."),
        maxConnections: z
          .int()
          .optional()
          .describe("Follows minUnits; absent for a size the service's table does not list."),
      })
      .optional()
      .describe("Size in compute units as the service says it."),
    lastActiveTime: z.string().optional().describe("Written along with other changes, never alone."),
    operations: z.array(operation).optional().describe("In flight first, then the most recent."),
    acknowledged: acknowledged.optional(),
    failedActions: z
      .array(z.object({ action: z.string(), operationId: z.string(), time: z.string() }))
      .optional()
      .describe("Failures that no later success of the same action has cleared."),
    operationWatermark: operationWatermark.optional(),
    lastHandledReconcileAt: z
      .string()
      .optional()
      .describe("The last value of reconcile-requested-at that was handled."),
    conditions: z.array(condition).optional(),
  })
  .describe("The endpoint as the service showed it, and what is going on.");

/** The resource's status. */
export type ComputeEndpointStatus = z.output<typeof statusSchema>;
export type Ownership = z.output<typeof ownership>;
export type CreateIntent = z.output<typeof createIntent>;
export type StatusOperation = z.output<typeof operation>;
export type Acknowledged = z.output<typeof acknowledged>;
export type OperationWatermark = z.output<typeof operationWatermark>;
export type Condition = z.output<typeof condition>;

/** The parts of status that the operator trusts with other people's databases; each is read by itself. */
export const trustedStatusSchema = { ownership: ownership.optional(), createIntent: createIntent.optional() };

/** Most operations kept in status. */
export const statusOperationsLimit = 20;
