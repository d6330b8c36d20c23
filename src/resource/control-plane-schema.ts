import { z } from "zod";
import { objectName, optional, textOf, withRules } from "./spec-schema.ts";
import { conditionsSchema, observedGeneration } from "./status-schema.ts";

/** The pattern of a port up to 65535. With a pattern, the API server refuses the same URLs as this schema. */
const port = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
const host = "([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\\[[0-9a-fA-F:.]+\\])";
const urlPattern = `^https?://${host}(:${port})?(/[A-Za-z0-9._~%-]+)*/v2$`;

const url = withRules(
  z
    .string()
    .max(2048)
    .describe(
      "Base URL of the control plane; it ends in /v2. After a change, resources with an endpoint, role or database at the former URL are Stalled, and the operator does not touch these.",
    ),
  {
    rule: `self.matches('${urlPattern.replaceAll("\\", "\\\\")}')`,
    holds: (text) => new RegExp(urlPattern).test(text) && URL.canParse(text),
    message: "url must be an http or https URL that ends in /v2, without user, query or fragment",
  },
);

const secretKey = () => textOf(253, /^[-._a-zA-Z0-9]+$/);

const namespaceName = () => textOf(63, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

const secretRef = (what: string): z.ZodType<SecretRef> =>
  z.object({
    name: objectName().describe("Name of a Secret of the same namespace."),
    key: secretKey().describe(`The key of the Secret that holds ${what}.`),
  });

const clusterSecretRef = (what: string): z.ZodType<SecretRef> =>
  z.object({
    namespace: namespaceName().describe("Namespace of the Secret."),
    name: objectName().describe("Name of the Secret."),
    key: secretKey().describe(`The key of the Secret that holds ${what}.`),
  });

export interface SecretRef {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly key: string;
}

/** The fields of both kinds. @param refTo the reference to a Secret */
const specFields = (refTo: typeof secretRef) => ({
  url,
  apiKeySecretRef: refTo("the API key").describe(
    "The Secret with the API key. The operator reads it again every minute, and at once if the control plane refuses the key. In the namespace of the Secret the operator needs a RoleBinding to the ClusterRole endpoint-operator-secrets.",
  ),
  requestsPerMinute: optional(
    z.int().min(10).max(1_000_000),
    "The maximum number of requests that the operator sends to this control plane in any 60 seconds. Absent: CONTROL_PLANE_REQUESTS_PER_MINUTE of the operator's settings.",
  ),
  connection: optional(
    z.object({
      port: optional(
        z.int().min(1).max(65_535),
        "Port of the databases. Absent: DATABASE_PORT of the operator's settings.",
      ),
      // The values of libpq's sslmode that always encrypt.
      sslMode: optional(
        z.enum(["require", "verify-ca", "verify-full"]),
        "The value of sslmode, as libpq knows it. Absent: DATABASE_SSL_MODE of the operator's settings.",
      ),
      caSecretRef: optional(
        refTo("the certificate authority"),
        "The Secret with the certificate authority of the databases, as PEM. Absent: DATABASE_CA_FILE of the operator's settings, or the public authorities.",
      ),
    }),
    "How applications connect to the databases. The operator writes it into the Secrets of DatabaseAccesses.",
  ),
});

const labelValue = () => z.string().max(63);

const selector = z
  .object({
    matchLabels: optional(
      z.record(z.string().max(317), labelValue()),
      "Labels that a Namespace must carry, all of them.",
    ).meta({ maxProperties: 50 }),
    matchExpressions: optional(
      z
        .array(
          withRules(
            z.object({
              key: z.string().min(1).max(317).describe("Name of a label."),
              operator: z
                .enum(["In", "NotIn", "Exists", "DoesNotExist"])
                .describe(
                  "In, NotIn: the value of the label is, or is not, one of values. Exists, DoesNotExist: the label is there, or is not.",
                ),
              values: optional(
                z.array(labelValue()).max(50),
                "The values for In and NotIn. With Exists and DoesNotExist it must be absent.",
              ),
            }),
            {
              rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
              holds: ({ operator, values = [] }) => (operator === "In" || operator === "NotIn") === values.length > 0,
              message: "values are required with In and NotIn, and not allowed with Exists and DoesNotExist",
            },
          ),
        )
        .max(20),
      "Requirements that the labels of a Namespace must meet, all of them.",
    ),
  })
  .describe("Selects Namespaces by their labels. An empty selector selects all of them.");

const projects = optional(
  z
    .array(
      z
        .object({
          id: textOf(60, /^([a-z0-9-]{1,60}|[*])$/).describe(
            "Id of a project of the control plane; * stands for all projects.",
          ),
          namespaces: withRules(
            z
              .object({
                names: optional(z.array(namespaceName()).max(500), "Namespaces by name."),
                selector: selector.optional(),
              })
              .describe("The namespaces whose resources may use the project: either names or selector."),
            {
              rule: "has(self.names) != has(self.selector)",
              holds: ({ names, selector: by }) => (names === undefined) !== (by === undefined),
              message: "exactly one of names and selector must be set",
            },
          ),
        })
        .describe("A project, and the namespaces that may use it."),
    )
    .max(500),
  "Which namespaces may use which project. If the list is present, it alone decides. Absent: the annotation endpoint-operator.dev/projects of Namespaces decides, as for the control plane of the operator's settings.",
);

export const controlPlaneSpecSchema = z
  .object(specFields(secretRef))
  .describe("A control plane for the resources of this namespace.");

export const clusterControlPlaneSpecSchema = z
  .object({ ...specFields(clusterSecretRef), projects })
  .describe("A control plane for the resources of several namespaces.");

/** The spec of either kind, in the form that the operator uses. */
export interface ControlPlaneSpec extends z.output<typeof controlPlaneSpecSchema> {
  readonly projects?: z.output<typeof projects>;
}

export type LabelSelector = z.output<typeof selector>;

/** The status of a control plane. It never holds a key. */
export const controlPlaneStatusSchema = z
  .object({
    observedGeneration: observedGeneration(),
    resources: optional(z.int(), "Number of resources that use the control plane."),
    lastError: optional(
      z.object({
        reason: z.string().describe("One word for programs, as in the metric of requests."),
        message: z.string().describe("What failed."),
        time: z.string().describe("When the operator first saw it, by its own clock."),
      }),
      "The last error that concerns the control plane as a whole. It stays here after the control plane works again.",
    ),
    conditions: conditionsSchema.optional(),
  })
  .describe("Whether the operator can use the control plane, and how many resources use it.");

export type ControlPlaneStatus = z.output<typeof controlPlaneStatusSchema>;
