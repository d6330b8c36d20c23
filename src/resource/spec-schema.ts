import { z } from "zod";
import { isCron, isTimeZone } from "./recurrence.ts";

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

export const identifier = () => textOf(60, /^[a-z0-9-]{1,60}$/);

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

/** A map of texts. In the CRD the rules check the keys, because OpenAPI v3 has no propertyNames. */
export const mapOf = (most: number, [key, value]: readonly [z.ZodString, z.ZodString], ...rules: readonly CelRule[]) =>
  z
    .record(key, value)
    .refine((map) => Object.keys(map).length <= most, `must not have more than ${most} entries`)
    .meta({ maxProperties: most, ...celRules(...rules) });

const settings = z
  .object({
    pgSettings: mapOf(200, [z.string().max(128), z.string().max(1024)], {
      rule: "self.all(name, size(name) <= 128)",
      message: "the name of a setting must not be longer than 128 characters",
    }).describe(
      "Postgres settings by name. The operator manages the whole map: a setting that is not listed is removed.",
    ),
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

export const controlPlaneRef = z
  .object({
    kind: z
      .enum(["ControlPlane", "ClusterControlPlane"])
      .describe("ControlPlane: one of this namespace. ClusterControlPlane: one of the cluster."),
    name: objectName().describe("Name of the ControlPlane or ClusterControlPlane."),
  })
  .describe("The control plane that has the project. Absent: the one of the operator's settings. Cannot be changed.");

export type ControlPlaneRef = z.output<typeof controlPlaneRef>;

/**
 * Of a spec that is not valid. An unreadable reference must not count as absent: an absent one means the control plane of
 * the settings. It becomes a ClusterControlPlane without a name, which cannot exist.
 */
export const readableRef = controlPlaneRef.optional().catch({ kind: "ClusterControlPlane", name: "" });

const controlPlaneText = "has(%.controlPlaneRef) ? %.controlPlaneRef.kind + '/' + %.controlPlaneRef.name : ''";

/** A window or a schedule: a time that repeats. */
const recurring = <Shape extends z.ZodRawShape>(leastSeconds: number, more: Shape) =>
  withRules(
    z.object({
      ...more,
      schedule: textOf(100, /^[0-9A-Za-z*,/-]+( [0-9A-Za-z*,/-]+){4}$/)
        .refine(isCron, "must be a cron expression that begins at some time")
        .describe("When it begins: a cron expression of five fields (minute, hour, day of month, month, day of week)."),
      durationSeconds: z
        .int()
        .min(leastSeconds)
        .max(604_800)
        .describe("How long it lasts, in seconds of elapsed time; at most 7 days."),
      timeZone: optional(
        textOf(60, /^[A-Za-z][A-Za-z0-9_+/-]*$/).refine(isTimeZone, "must be the name of a time zone"),
        "Time zone of the cron expression, for instance Europe/Berlin. Absent: UTC.",
      ),
    }),
    {
      rule: "!has(self.timeZone) || (self.timeZone != 'Local' && timestamp('2026-01-01T00:00:00Z').getHours(self.timeZone) >= 0)",
      message: "timeZone must be the name of a time zone, for instance Europe/Berlin",
    },
  );

const atomic = { "x-kubernetes-list-type": "atomic" };
/** Lists whose entries have a name of their own. */
export const mapBy = (name: string) => ({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [name] });

const disruption = withRules(
  z
    .object({
      when: optional(
        z.enum(["Immediately", "WhenIdle", "InWindow"]),
        "Immediately: at once. WhenIdle: when the compute is idle, so no connection drops. InWindow: while a window is open. Absent: Immediately.",
      ),
      windows: optional(z.array(recurring(900, {})).max(16), "Required with InWindow.").meta(atomic),
      approval: optional(
        z.enum(["NotRequired", "Required"]),
        "Required: each change also waits until the annotation approve-change has its hash. A change by a schedule needs none. Absent: NotRequired.",
      ),
      forceAfterSeconds: optional(
        z.int().min(60).max(31_536_000),
        "A change that has waited so long for idle or a window is sent anyway. It never replaces an approval. Absent: never.",
      ),
    })
    .describe(
      "When the operator may send a change that drops connections: a new size of an active compute, a move, a rotation by age. Absent: at once.",
    ),
  {
    rule: "!has(self.when) || self.when != 'InWindow' || (has(self.windows) && size(self.windows) > 0)",
    holds: ({ when, windows = [] }) => when !== "InWindow" || windows.length > 0,
    message: "windows is required with when InWindow",
  },
);

const scheduleName = textOf(63, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/).describe("Name of the schedule.");

const schedules = z
  .array(recurring(60, { name: scheduleName, compute: compute.optional(), suspend: suspend.optional() }))
  .max(16)
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, "two schedules have one name")
  .describe("Values of compute and suspend at some times. The last schedule that matches counts, else spec itself.")
  .meta(mapBy("name"));

/** An absent field is not managed: the operator neither sends it nor reports drift. */
export const specSchema = withRules(
  z
    .object({
      projectId: identifier()
        .describe("Id of the project in the control plane. Cannot be changed.")
        .meta(celRules(immutable("projectId"))),
      branchId: optional(
        identifier(),
        "Id of the branch that the endpoint serves. A change moves the endpoint to another branch. Either branchId or branchRef.",
      ),
      branchRef: optional(
        z.object({ name: objectName().describe("Name of a DatabaseBranch of the same namespace.") }),
        "The DatabaseBranch whose branch the endpoint serves. projectId and controlPlaneRef must be those of the DatabaseBranch.",
      ),
      type: z
        .enum(["ReadWrite", "ReadOnly"])
        .describe("ReadWrite: the one writable endpoint of its branch. ReadOnly: a read replica. Cannot be changed.")
        .meta(celRules(immutable("type"))),
      controlPlaneRef: controlPlaneRef.optional(),
      management: optional(
        z.enum(["Manage", "Observe"]),
        "Observe: the operator shows the endpoint that spec.adoption.endpointId or the branch names, and its difference from spec. It changes nothing, and a deletion deletes nothing. Absent: Manage.",
      ),
      compute: compute.optional(),
      suspend: suspend.optional(),
      pooler: pooler.optional(),
      settings: settings.optional(),
      disabled: optional(
        z.boolean(),
        "true: the compute is suspended, and no connection wakes it. false: connections wake it. Absent: not managed.",
      ),
      disruption: disruption.optional(),
      schedules: schedules.optional(),
      adoption: adoption.optional(),
      deletionPolicy: optional(
        z.enum(["Delete", "Retain"]),
        "What happens to the endpoint when this resource is deleted. Delete: it is deleted. Retain: it stays. Absent: Delete if this resource created it, Retain if it was adopted or presumed (the answer to its create was lost).",
      ),
    })
    .describe("The endpoint as it should be."),
  {
    rule: "has(self.branchId) != has(self.branchRef)",
    holds: ({ branchId, branchRef }) => (branchId === undefined) !== (branchRef === undefined),
    message: "exactly one of branchId and branchRef is required",
  },
  {
    rule: "self.type != 'ReadOnly' || !has(self.adoption) || self.adoption.policy == 'Never' || has(self.adoption.endpointId)",
    holds: ({ type, adoption: rule }) =>
      type !== "ReadOnly" || rule === undefined || rule.policy === "Never" || rule.endpointId !== undefined,
    message: "adoption.endpointId is required to adopt a ReadOnly endpoint",
  },
  {
    rule: "!has(self.schedules) || self.schedules.all(each, (!has(each.compute) || has(self.compute)) && (!has(each.suspend) || has(self.suspend)))",
    holds: ({ schedules: all = [], compute: size, suspend: delay }) =>
      all.every((each) => (!each.compute || size) && (!each.suspend || delay)),
    message: "a schedule must not set compute or suspend if spec does not set it",
  },
  {
    rule: "!has(self.schedules) || !has(self.disruption) || !has(self.disruption.when) || self.disruption.when != 'InWindow' || self.schedules.all(each, !has(each.compute))",
    holds: ({ schedules: all = [], disruption: policy }) =>
      policy?.when !== "InWindow" || all.every((each) => !each.compute),
    message: "compute in a schedule is not allowed with disruption.when InWindow",
  },
  {
    rule: `(${controlPlaneText.replaceAll("%", "self")}) == (${controlPlaneText.replaceAll("%", "oldSelf")})`,
    message: "controlPlaneRef cannot be changed; create another ComputeEndpoint instead",
  },
);

export type ComputeEndpointSpec = z.output<typeof specSchema>;

/** A spec whose branch is known, also if it names a DatabaseBranch. */
export type PlacedSpec = ComputeEndpointSpec & { readonly branchId: string };
