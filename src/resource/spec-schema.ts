import { z } from "zod";

/** A CEL validation rule, as the API server expects it. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
}

export const celRules = (...rules: readonly CelRule[]) => ({ "x-kubernetes-validations": rules });

/** `holds` checks the rule here too. It is absent for a rule about a change, or if the zod schema has the check. */
export interface SharedRule<Value> extends CelRule {
  readonly holds?: (value: Value) => boolean;
}

/** Adds rules to a schema. Each becomes a CEL rule in the CRD. `holds` checks the rule here, with the same message. */
export function withRules<Schema extends z.ZodType>(
  schema: Schema,
  ...rules: readonly SharedRule<z.output<Schema>>[]
): Schema {
  const checked = rules.reduce((inner, { holds, message }) => (holds ? inner.refine(holds, message) : inner), schema);
  return checked.meta(celRules(...rules.map(({ rule, message }) => ({ rule, message }))));
}

const immutable = (field: string): CelRule => ({
  rule: "self == oldSelf",
  message: `${field} cannot be changed; create another ComputeEndpoint instead`,
});

export const optional = <Schema extends z.ZodType>(schema: Schema, description: string) =>
  schema.optional().describe(description);

/** A text of at least one character. */
export const textOf = (most: number, pattern: RegExp) => z.string().min(1).max(most).regex(pattern);

const identifier = () => textOf(60, /^[a-z0-9-]{1,60}$/);

/** The schema's bounds are not enough: the API server accepts the integer 0 although the minimum is 0.25. */
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

const compute = withRules(
  z
    .object({
      minUnits: units("Smallest size in compute units. The maximum number of connections follows this size."),
      maxUnits: units("Largest size in compute units. Equal to minUnits for a fixed size."),
    })
    .describe(
      "Size in compute units (1 unit is 1 vCPU and 4 GB of memory). Changing it restarts the compute and drops its connections. Absent: not managed.",
    ),
  unitsRule("minUnits"),
  unitsRule("maxUnits"),
  {
    rule: "self.minUnits <= self.maxUnits",
    holds: ({ minUnits, maxUnits }) => minUnits <= maxUnits,
    message: "minUnits must not be greater than maxUnits",
  },
);

const suspend = withRules(
  z
    .object({
      mode: z
        .enum(["After", "Never", "ServiceDefault"])
        .describe(
          "After: suspend when idle for afterSeconds. Never: stay active. ServiceDefault: as the control plane decides.",
        ),
      afterSeconds: optional(
        z.int().min(1).max(604_800),
        "Seconds without activity before the compute is suspended, up to 7 days. Only with mode After.",
      ),
    })
    .describe("When an idle compute is suspended. Absent: not managed."),
  {
    rule: "(self.mode == 'After') == has(self.afterSeconds)",
    holds: ({ mode, afterSeconds }) => (mode === "After") === (afterSeconds !== undefined),
    message: "afterSeconds is required with mode After and not allowed with any other mode",
  },
);

const pooler = z
  .object({
    enabled: optional(z.boolean(), "Whether connections are pooled by default. Absent: not managed."),
    mode: optional(
      z.enum(["Transaction"]),
      "How the pooler shares connections. Transaction: a client holds a connection for one transaction. Absent: not managed.",
    ),
  })
  .describe("Connection pooling. Absent: not managed.");

/** Limits the number of characters, counted as the API server does: a character of two UTF-16 units counts as one. */
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
      .describe(
        "Postgres settings by name. The operator manages the whole map: a setting that is not listed is removed.",
      )
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

const adoption = withRules(
  z
    .object({
      policy: z
        .enum(["Never", "AdoptOrCreate", "AdoptOnly"])
        .describe(
          "Never: the resource owns only an endpoint that it creates. AdoptOrCreate: it takes over an existing endpoint, or creates one if there is none. AdoptOnly: it takes over an existing endpoint and never creates one.",
        ),
      endpointId: optional(
        identifier(),
        "Id of the endpoint to adopt. Required to adopt a ReadOnly endpoint; not allowed with policy Never.",
      ),
      takeOver: optional(
        z.boolean(),
        "true: also adopt an endpoint that another cluster or another operator created. Make sure that it no longer manages the endpoint. Not allowed with policy Never.",
      ),
    })
    .describe(
      "Whether the resource may take over an endpoint that exists already and that no other resource owns. Absent: Never.",
    ),
  {
    rule: "self.policy != 'Never' || !has(self.endpointId)",
    holds: ({ policy, endpointId }) => policy !== "Never" || endpointId === undefined,
    message: "endpointId is not allowed with policy Never",
  },
  {
    rule: "self.policy != 'Never' || !has(self.takeOver) || !self.takeOver",
    holds: ({ policy, takeOver }) => policy !== "Never" || takeOver !== true,
    message: "takeOver is not allowed with policy Never",
  },
);

export const objectName = () => textOf(253, /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);

const controlPlaneRef = z
  .object({
    kind: z
      .enum(["ControlPlane", "ClusterControlPlane"])
      .describe("ControlPlane: one of this namespace. ClusterControlPlane: one of the cluster."),
    name: objectName().describe("Name of the ControlPlane or ClusterControlPlane."),
  })
  .describe("The control plane that has the project. Absent: the one of the operator's settings. Cannot be changed.");

const controlPlaneText = "has(%.controlPlaneRef) ? %.controlPlaneRef.kind + '/' + %.controlPlaneRef.name : ''";

/** An absent field is not managed: the operator neither sends it nor reports drift. */
export const specSchema = withRules(
  z
    .object({
      projectId: identifier()
        .describe("Id of the project in the control plane. Cannot be changed.")
        .meta(celRules(immutable("projectId"))),
      branchId: identifier().describe(
        "Id of the branch that the endpoint serves. A change moves the endpoint to another branch.",
      ),
      type: z
        .enum(["ReadWrite", "ReadOnly"])
        .describe("ReadWrite: the one writable endpoint of its branch. ReadOnly: a read replica. Cannot be changed.")
        .meta(celRules(immutable("type"))),
      controlPlaneRef: controlPlaneRef.optional(),
      compute: compute.optional(),
      suspend: suspend.optional(),
      pooler: pooler.optional(),
      settings: settings.optional(),
      disabled: optional(
        z.boolean(),
        "true: the compute is suspended, and no connection wakes it. false: connections wake it. Absent: not managed.",
      ),
      adoption: adoption.optional(),
      deletionPolicy: optional(
        z.enum(["Delete", "Retain"]),
        "What happens to the endpoint when this resource is deleted. Delete: it is deleted. Retain: it stays. Absent: Delete if this resource created it, Retain if it was adopted or presumed (the answer to its create was lost).",
      ),
    })
    .describe("The endpoint as it should be."),
  {
    rule: "self.type != 'ReadOnly' || !has(self.adoption) || self.adoption.policy == 'Never' || has(self.adoption.endpointId)",
    holds: ({ type, adoption: rule }) =>
      type !== "ReadOnly" || rule === undefined || rule.policy === "Never" || rule.endpointId !== undefined,
    message: "adoption.endpointId is required to adopt a ReadOnly endpoint",
  },
  {
    rule: `(${controlPlaneText.replaceAll("%", "self")}) == (${controlPlaneText.replaceAll("%", "oldSelf")})`,
    message: "controlPlaneRef cannot be changed; create another ComputeEndpoint instead",
  },
);

export type ComputeEndpointSpec = z.output<typeof specSchema>;
