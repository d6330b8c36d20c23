import { z } from "zod";

/** A CEL validation rule, as the API server expects it. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
}

/** Returns the schema metadata that puts CEL rules into the CRD. */
export const celRules = (...rules: readonly CelRule[]) => ({ "x-kubernetes-validations": rules });

const immutable = (field: string): CelRule => ({
  rule: "self == oldSelf",
  message: `${field} cannot be changed; create another ComputeEndpoint instead`,
});

const identifier = () =>
  z
    .string()
    .min(1)
    .max(60)
    .regex(/^[a-z0-9-]{1,60}$/);

/**
 * Makes a CEL rule for a number's minimum. The schema's bounds are not enough: the API server accepts the integer 0
 * although the minimum is 0.25.
 */
const unitsRule = (field: string): CelRule => ({
  rule: `self.${field} == 0.25 || self.${field} == 0.5 || (self.${field} >= 1.0 && self.${field} <= 56.0 && self.${field} == double(int(self.${field})))`,
  message: `${field} must be 0.25, 0.5 or a whole number from 1 to 56`,
});

const isUnits = (units: number) =>
  units === 0.25 || units === 0.5 || (Number.isInteger(units) && units >= 1 && units <= 56);

const units = (description: string) =>
  z
    .number()
    .min(0.25)
    .max(56)
    .refine(isUnits, "must be 0.25, 0.5 or a whole number from 1 to 56")
    .describe(description);

const compute = z
  .object({
    minUnits: units("Smallest size in compute units. The maximum number of connections follows this size."),
    maxUnits: units("Largest size in compute units. Equal to minUnits for a fixed size."),
  })
  .refine((size) => size.minUnits <= size.maxUnits, "minUnits must not be greater than maxUnits")
  .describe(
    "Size in compute units (1 unit is 1 vCPU and 4 GB of memory). Changing it restarts the compute and drops its connections. Absent: not managed.",
  )
  .meta(
    celRules(unitsRule("minUnits"), unitsRule("maxUnits"), {
      rule: "self.minUnits <= self.maxUnits",
      message: "minUnits must not be greater than maxUnits",
    }),
  );

const suspend = z
  .object({
    mode: z
      .enum(["After", "Never", "ServiceDefault"])
      .describe(
        "After: suspend when idle for afterSeconds. Never: stay active. ServiceDefault: as the control plane decides.",
      ),
    afterSeconds: z
      .int()
      .min(1)
      .max(604_800)
      .optional()
      .describe("Seconds without activity before the compute is suspended, up to 7 days. Only with mode After."),
  })
  .refine((rule) => (rule.mode === "After") === (rule.afterSeconds !== undefined), {
    message: "afterSeconds is required with mode After and not allowed with any other mode",
  })
  .describe("When an idle compute is suspended. Absent: not managed.")
  .meta(
    celRules({
      rule: "(self.mode == 'After') == has(self.afterSeconds)",
      message: "afterSeconds is required with mode After and not allowed with any other mode",
    }),
  );

const pooler = z
  .object({
    enabled: z.boolean().optional().describe("Whether connections are pooled by default. Absent: not managed."),
    mode: z.enum(["Transaction"]).optional().describe("How the pooler shares connections. Absent: not managed."),
  })
  .describe("Connection pooling. Absent: not managed.");

/**
 * Makes a text schema with a maximum length. It counts characters as the API server does: a character outside the basic
 * plane is one, not two.
 */
const textUpTo = (most: number) =>
  z
    .string()
    .refine((text) => [...text].length <= most, `must not be longer than ${most} characters`)
    .meta({ maxLength: most });

const mostSettings = 200;

const settings = z
  .object({
    pgSettings: z
      .record(textUpTo(128), textUpTo(1024))
      .refine((map) => Object.keys(map).length <= mostSettings, `must not have more than ${mostSettings} settings`)
      .describe("Postgres settings by name. The map is owned whole: a setting that is not listed is removed.")
      .meta({
        maxProperties: mostSettings,
        // A CEL rule checks the keys, because OpenAPI v3 has no propertyNames.
        ...celRules({
          rule: "self.all(name, size(name) <= 128)",
          message: "the name of a setting must not be longer than 128 characters",
        }),
      }),
  })
  .describe("Settings of the Postgres process. Absent: not managed.");

const adoption = z
  .object({
    policy: z
      .enum(["Never", "AdoptOrCreate", "AdoptOnly"])
      .describe(
        "Never: only an endpoint this resource creates. AdoptOrCreate: take over an existing endpoint, else create one. AdoptOnly: take over an existing endpoint, never create.",
      ),
    endpointId: identifier()
      .optional()
      .describe("The endpoint to adopt. Required to adopt a ReadOnly endpoint; not allowed with policy Never."),
    takeOver: z
      .boolean()
      .optional()
      .describe(
        "true: also adopt an endpoint that another cluster or another operator created. Make sure that it no longer manages the endpoint. Not allowed with policy Never.",
      ),
  })
  .refine((rule) => rule.policy !== "Never" || rule.endpointId === undefined, {
    message: "endpointId is not allowed with policy Never",
  })
  .refine((rule) => rule.policy !== "Never" || rule.takeOver !== true, {
    message: "takeOver is not allowed with policy Never",
  })
  .describe("Consent to adopt an endpoint that has no other owner. Absent: Never.")
  .meta(
    celRules(
      {
        rule: "self.policy != 'Never' || !has(self.endpointId)",
        message: "endpointId is not allowed with policy Never",
      },
      {
        rule: "self.policy != 'Never' || !has(self.takeOver) || !self.takeOver",
        message: "takeOver is not allowed with policy Never",
      },
    ),
  );

/** Makes the schema of a Kubernetes object name. */
export const objectName = () =>
  z
    .string()
    .min(1)
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);

const controlPlaneRef = z
  .object({
    kind: z
      .enum(["ControlPlane", "ClusterControlPlane"])
      .describe("ControlPlane: one of this namespace. ClusterControlPlane: one of the cluster."),
    name: objectName().describe("Its name."),
  })
  .describe("The control plane that has the project. Absent: the one of the operator's settings. Cannot be changed.");

const controlPlaneText = "has(%.controlPlaneRef) ? %.controlPlaneRef.kind + '/' + %.controlPlaneRef.name : ''";

/** What a person asks for. A field that is absent is not managed: neither sent nor called drift. */
export const specSchema = z
  .object({
    projectId: identifier()
      .describe("Project of the control plane. Cannot be changed.")
      .meta(celRules(immutable("projectId"))),
    branchId: identifier().describe("Branch the endpoint is attached to. Changing it moves the endpoint."),
    type: z
      .enum(["ReadWrite", "ReadOnly"])
      .describe("ReadWrite: the one writable endpoint of its branch. ReadOnly: a read replica. Cannot be changed.")
      .meta(celRules(immutable("type"))),
    controlPlaneRef: controlPlaneRef.optional(),
    compute: compute.optional(),
    suspend: suspend.optional(),
    pooler: pooler.optional(),
    settings: settings.optional(),
    disabled: z
      .boolean()
      .optional()
      .describe("Suspends the compute and lets no connection wake it. Absent: not managed."),
    adoption: adoption.optional(),
    deletionPolicy: z
      .enum(["Delete", "Retain"])
      .optional()
      .describe(
        "What becomes of the endpoint when this resource is deleted. Absent: Delete if this resource created it, Retain if it was adopted or presumed.",
      ),
  })
  .refine(
    (spec) =>
      spec.type !== "ReadOnly" ||
      spec.adoption === undefined ||
      spec.adoption.policy === "Never" ||
      spec.adoption.endpointId !== undefined,
    "adoption.endpointId is required to adopt a ReadOnly endpoint",
  )
  .describe("The endpoint as it should be.")
  .meta(
    celRules(
      {
        rule: "self.type != 'ReadOnly' || !has(self.adoption) || self.adoption.policy == 'Never' || has(self.adoption.endpointId)",
        message: "adoption.endpointId is required to adopt a ReadOnly endpoint",
      },
      {
        rule: `(${controlPlaneText.replaceAll("%", "self")}) == (${controlPlaneText.replaceAll("%", "oldSelf")})`,
        message: "controlPlaneRef cannot be changed; create another ComputeEndpoint instead",
      },
    ),
  );

/** A valid spec of a ComputeEndpoint. */
export type ComputeEndpointSpec = z.output<typeof specSchema>;

/** The fields of an invalid spec that a deletion needs. Each is parsed by itself. */
export const deletionFieldsSchema = {
  controlPlaneRef: specSchema.shape.controlPlaneRef,
  projectId: specSchema.shape.projectId,
  deletionPolicy: specSchema.shape.deletionPolicy,
};
