import { z } from "zod";
import { type CelRule, celRules, mapOf, objectName, optional, textOf, withRules } from "./spec-schema.ts";
import { conditionsSchema, lastHandled, observedGeneration, recordedPlane, time } from "./status-schema.ts";

/** The keys of the Secret that the operator writes, in the layout of the Service Binding specification. */
export const bindingKeys = [
  "type",
  "provider",
  "host",
  "port",
  "database",
  "username",
  "password",
  "sslmode",
  "uri",
  "jdbc-url",
  "pgpass",
  "pooled-host",
  "pooled-uri",
  "read-host",
  "read-uri",
  "read-hosts",
  "read-uri-all",
] as const;
export type BindingKey = (typeof bindingKeys)[number];

/** The keys of the Secret for the certificate authority. A template can neither have such a key nor refer to one. */
export const authorityKeys = ["ca.crt", "root.crt", "sslrootcert"] as const;

const reservedKeys: readonly string[] = [...bindingKeys, ...authorityKeys];

/** A template: each `${…}` must be a known placeholder. A dollar sign before another character is allowed. */
const templatePattern = `^([^$]|[$][{](${bindingKeys.join("|")})[}]|[$][^{$])*[$]?$`;

const fixed = (field: string): CelRule => ({
  rule: "self == oldSelf",
  message: `${field} cannot be changed; create another DatabaseAccess instead`,
});

const plainName = () => textOf(63, /^[A-Za-z_][A-Za-z0-9_-]*$/);

/** @param absent what happens without a policy */
const deletionPolicy = (what: string, deleted: string, absent: string) =>
  optional(
    z.enum(["Delete", "Retain"]),
    `What happens to the ${what} when this resource is deleted, if this resource created it and no other DatabaseAccess names it. Delete: it is deleted${deleted}. Retain: it stays. Absent: ${absent}.`,
  );

const createPolicy = (what: string) =>
  optional(
    z.enum(["CreateIfAbsent", "MustExist"]),
    `CreateIfAbsent: the operator creates the ${what} if it is missing. MustExist: it never does. Absent: CreateIfAbsent.`,
  );

const database = z
  .object({
    name: withRules(plainName().describe("Name of the database. Cannot be changed."), fixed("database.name"), {
      rule: "!(self in ['template0', 'template1'])",
      holds: (name) => name !== "template0" && name !== "template1",
      message: "template0 and template1 are not allowed",
    }),
    policy: createPolicy("database"),
    deletionPolicy: deletionPolicy("database", " with its data", "Retain"),
  })
  .describe("The database to connect to.");

const role = z
  .object({
    name: withRules(
      plainName().describe("Name of the role with which the application logs in. Cannot be changed."),
      fixed("role.name"),
      {
        // PostgreSQL reserves these names.
        rule: "!self.startsWith('pg_') && !(self in ['public', 'none'])",
        holds: (name) => !name.startsWith("pg_") && name !== "public" && name !== "none",
        message: "public, none and names that begin with pg_ are not allowed",
      },
    ),
    policy: createPolicy("role"),
    deletionPolicy: deletionPolicy(
      "role",
      ", unless it owns a database that stays",
      "Delete, or Retain if the answer to the create was lost",
    ),
  })
  .describe("The role with which the application logs in.");

const password = withRules(
  z
    .object({
      secretRef: optional(
        z.object({
          name: z.string().min(1).max(253).describe("Name of another Secret of the same namespace."),
          key: z
            .string()
            .min(1)
            .max(253)
            .describe("The key of the Secret that holds the password. Its last line break does not count."),
        }),
        "A password that you set yourself. The role must already exist with this password: the operator neither creates the role nor resets its password. Absent: the control plane reveals the password.",
      ),
      rotateAfterSeconds: optional(
        z.int().min(60).max(315_360_000),
        "The operator resets the password when it is older than this, and updates the Secret at once. The age is that of the role: resources that share a role also share its rotations. The annotation rotate-requested-at resets it once. Absent: it is not reset by age.",
      ),
    })
    .describe(
      "Where the password comes from, and when it is replaced. Absent: the control plane makes it, and it is replaced only on request.",
    ),
  {
    rule: "!has(self.secretRef) || !has(self.rotateAfterSeconds)",
    holds: ({ secretRef, rotateAfterSeconds }) => secretRef === undefined || rotateAfterSeconds === undefined,
    message: "rotateAfterSeconds is not allowed with secretRef",
  },
);

/** The name of a label or annotation: an optional DNS name and a slash, and a short name. */
const metadataKeyPattern =
  "^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
const labelValuePattern = "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$";

/** Labels or annotations of the Secret. */
const secretMetadata = (what: string, value: z.ZodString) =>
  optional(
    mapOf(30, [z.string().max(253).regex(new RegExp(metadataKeyPattern)), value], {
      rule: `self.all(key, size(key) <= 253 && key.matches('${metadataKeyPattern}'))`,
      message: "a name must be a valid name of a label",
    }),
    `${what} of the Secret, for instance because a policy asks for them. The operator restores them. One that you remove here stays on the Secret until you remove it there too.`,
  );

const extraKey = z
  .string()
  .max(253)
  .regex(/^[-._a-zA-Z0-9]+$/)
  .refine((key) => key !== "." && !key.startsWith(".."), "'.' and keys that begin with '..' are not allowed")
  .refine((key) => !reservedKeys.includes(key), "a key of the binding is not allowed here");
const template = z.string().max(1024).regex(new RegExp(templatePattern), "must contain only known placeholders");

const secret = z
  .object({
    name: optional(objectName(), "Name of the Secret. Absent: the name of this resource."),
    extraKeys: optional(
      mapOf(
        50,
        [extraKey, template],
        {
          rule: `self.all(key, self[key].matches('${templatePattern}'))`,
          message: `a template must contain only these placeholders: ${bindingKeys.join(", ")}`,
        },
        {
          rule: "self.all(key, size(key) <= 253 && key.matches('^[-._a-zA-Z0-9]+$') && key != '.' && !key.startsWith('..'))",
          message:
            "an extra key must consist of letters, digits, '-', '_' and '.'; '.' and keys that begin with '..' are not allowed",
        },
        {
          rule: `self.all(key, !(key in [${reservedKeys.map((key) => `'${key}'`).join(", ")}]))`,
          message: "a key of the binding is not allowed as an extra key",
        },
      ),
      `More keys of the Secret. The value is a text with placeholders, for instance DATABASE_URL with the value \${uri}. Known placeholders: ${bindingKeys.join(", ")}.`,
    ),
    labels: secretMetadata("Labels", z.string().max(63).regex(new RegExp(labelValuePattern))),
    annotations: secretMetadata("Annotations", z.string().max(4096)),
    includeReplicas: optional(
      z.boolean(),
      "true: the Secret also has read-host, read-uri, read-hosts and read-uri-all for the ReadOnly ComputeEndpoints of the branch in this namespace. Absent: false.",
    ),
  })
  .describe("The Secret that the operator writes. It must not exist already.");

const secretNameOf = "has(%.secret) && has(%.secret.name) ? %.secret.name : ''";

export const databaseAccessSpecSchema = z
  .object({
    endpointRef: z
      .object({ name: z.string().min(1).max(253).describe("Name of a ComputeEndpoint of the same namespace.") })
      .describe("The endpoint through which the application connects. Cannot be changed.")
      .meta(celRules(fixed("endpointRef"))),
    database,
    role,
    password: password.optional(),
    secret: secret.optional(),
  })
  .describe("One application's access to one database through one endpoint.")
  .meta(
    celRules({
      rule: `(${secretNameOf.replaceAll("%", "self")}) == (${secretNameOf.replaceAll("%", "oldSelf")})`,
      message: "secret.name cannot be changed; create another DatabaseAccess instead",
    }),
  );

/** Only the API server checks this rule: a given password does not come from the Secret that the operator writes. */
export const foreignSecretRule: CelRule = {
  rule: `!has(self.spec.password) || !has(self.spec.password.secretRef) || self.spec.password.secretRef.name != (has(self.spec.secret) && has(self.spec.secret.name) ? self.spec.secret.name : self.metadata.name)`,
  message: "password.secretRef must not name the Secret of this resource",
};

export type DatabaseAccessSpec = z.output<typeof databaseAccessSpecSchema>;

const accessObject = z
  .object({
    type: z.enum(["Role", "Database"]).describe("Whether the object is a role or a database."),
    name: z.string().describe("Name of the object."),
    projectId: z.string().describe("The project of the object."),
    branchId: z.string().describe("The branch of the object."),
    origin: z
      .enum(["Requested", "Created", "Presumed", "Existing"])
      .describe(
        "Requested: a create was sent and is not answered yet. Created: this resource created it. Presumed: the answer to the create was lost. Existing: it was there before.",
      ),
    freshOn: optional(
      z.string(),
      "Of a role on the branch of a DatabaseBranch: the copy of the parent's data for which it has a password of its own. The time of the branch's last reset, or Created.",
    ),
  })
  .describe("A role or a database.");

/** The status of a DatabaseAccess: what the operator knows and shows. It never holds a password. */
export const databaseAccessStatusSchema = z
  .object({
    observedGeneration: observedGeneration(),
    binding: optional(
      z.object({ name: z.string().describe("Name of the Secret.") }),
      "The Secret, as the Service Binding specification asks of a provisioned service.",
    ),
    endpoint: optional(
      z.object({
        endpointId: z.string().describe("Id of the endpoint in the control plane."),
        projectId: z.string().describe("The project of the endpoint."),
        branchId: z.string().describe("The branch of the endpoint."),
        host: z.string().describe("The host name of the endpoint for direct connections."),
      }),
      "The endpoint that the Secret names.",
    ),
    records: optional(
      z.object({
        resourceUid: z.string().describe("The uid of this resource when the records were made."),
        clusterId: z.string().describe("The cluster in which the records were made."),
        serviceUrl: z.string().describe("The control plane that knows the objects."),
        controlPlane: recordedPlane(),
        objects: z.array(accessObject).describe("Role and database on each branch that this resource has used."),
      }),
      "Which roles and databases this resource created. Records of another resource or cluster delete nothing.",
    ),
    secret: optional(
      z.object({
        resourceVersion: z.string().describe("Version of the Secret after the operator's last write."),
        changedTime: time("When the operator last changed what the Secret says, by its own clock."),
      }),
      "The Secret as the operator last wrote it.",
    ),
    password: optional(
      z.object({
        roleUpdatedTime: z.string().describe("The role's own time when its password was read."),
        rotatedTime: time("When the operator last reset the password, by its own clock.").optional(),
        knownSinceTime: time("Since when the operator knows the password, by its own clock."),
        rotation: optional(
          z.object({
            startedTime: time("When the operator first tried the reset, by its own clock."),
            requestedAt: optional(z.string(), "The value of rotate-requested-at that asked for it."),
          }),
          "A reset that may have been sent, and whose password is not in the Secret yet.",
        ),
        operationId: optional(
          z.string(),
          "The operation that brings the last reset to PostgreSQL, until it has succeeded.",
        ),
      }),
      "Times of the password. The password itself is in the Secret and nowhere else.",
    ),
    lastHandledReconcileAt: lastHandled("reconcile-requested-at"),
    lastHandledRotateAt: lastHandled("rotate-requested-at"),
    conditions: conditionsSchema.optional(),
  })
  .describe("What the operator knows of role, database and Secret.");

export type DatabaseAccessStatus = z.output<typeof databaseAccessStatusSchema>;
export type AccessObject = z.output<typeof accessObject>;
