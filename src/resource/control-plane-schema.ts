/** The schemas of ControlPlane and ClusterControlPlane: their URL, their API key, and who may use them. */
import { z } from "zod";
import { celRules, objectName } from "./spec-schema.ts";
import { conditionsSchema } from "./status-schema.ts";

/** The pattern of a port up to 65535. With a pattern, the API server refuses the same URLs as this schema. */
const port = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
const host = "([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\\[[0-9a-fA-F:.]+\\])";
const urlPattern = `^https?://${host}(:${port})?(/[A-Za-z0-9._~%-]+)*/v2$`;
const urlRule = "url must be an http or https URL that ends in /v2, without user, query or fragment";

const url = z
  .string()
  .max(2048)
  .refine((text) => new RegExp(urlPattern).test(text) && URL.canParse(text), urlRule)
  .describe(
    "Base URL of the control plane; it ends in /v2. After a change, endpoints of the former URL are not touched.",
  )
  .meta(celRules({ rule: `self.matches('${urlPattern.replaceAll("\\", "\\\\")}')`, message: urlRule }));

const secretKey = () =>
  z
    .string()
    .min(1)
    .max(253)
    .regex(/^[-._a-zA-Z0-9]+$/);

const namespaceName = () =>
  z
    .string()
    .min(1)
    .max(63)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

const secretRef = (what: string) =>
  z.object({
    name: objectName().describe("A Secret of the same namespace."),
    key: secretKey().describe(`The key that holds ${what}.`),
  });

const clusterSecretRef = (what: string) =>
  z.object({
    namespace: namespaceName().describe("Namespace of the Secret."),
    name: objectName().describe("Name of the Secret."),
    key: secretKey().describe(`The key that holds ${what}.`),
  });

const apiKey = "The Secret with the API key. The operator reads it again every minute, and after a refusal at once.";
const authority = "The certificate authority of the databases, PEM. Absent: a public one, or that of the settings.";

const requestsPerMinute = z
  .int()
  .min(10)
  .max(1_000_000)
  .optional()
  .describe("The maximum number of requests in any 60 seconds. Absent: as in the operator's settings.");

/** libpq's words for connections that are always encrypted. */
const sslMode = z.enum(["require", "verify-ca", "verify-full"]);

const connection = (caSecretRef: z.ZodOptional<z.ZodType<SecretRef>>) =>
  z
    .object({
      port: z.int().min(1).max(65_535).optional().describe("Port of the databases. Absent: as in the settings."),
      sslMode: sslMode.optional().describe("sslmode in the Secrets of applications. Absent: as in the settings."),
      caSecretRef,
    })
    .optional()
    .describe("How applications connect to the databases.");

/** A Secret that a control plane names. Without a namespace it is in the namespace of the control plane. */
export interface SecretRef {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly key: string;
}

const labelValue = () => z.string().max(63);

const selector = z
  .object({
    matchLabels: z
      .record(z.string().max(317), labelValue())
      .optional()
      .describe("Labels that a Namespace must carry, all of them.")
      .meta({ maxProperties: 50 }),
    matchExpressions: z
      .array(
        z
          .object({
            key: z.string().min(1).max(317).describe("Name of a label."),
            operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]).describe("How the label is compared."),
            values: z.array(labelValue()).max(50).optional().describe("With In and NotIn: the values. Else absent."),
          })
          .refine(
            ({ operator, values }) => (operator === "In" || operator === "NotIn") === (values?.length ?? 0) > 0,
            valuesRule(),
          )
          .meta(
            celRules({
              rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
              message: valuesRule(),
            }),
          ),
      )
      .max(20)
      .optional()
      .describe("Further requirements, all of which must hold."),
  })
  .describe("Selects Namespaces by their labels. An empty selector selects all of them.");

function valuesRule(): string {
  return "values are required with In and NotIn, and not allowed with Exists and DoesNotExist";
}

const oneOfRule = "exactly one of names and selector must be set";

const projects = z
  .array(
    z
      .object({
        id: z
          .string()
          .min(1)
          .max(60)
          .regex(/^([a-z0-9-]{1,60}|[*])$/)
          .describe("A project of the control plane; * for all."),
        namespaces: z
          .object({
            names: z.array(namespaceName()).max(500).optional().describe("Namespaces by name."),
            selector: selector.optional(),
          })
          .refine(({ names, selector: by }) => (names === undefined) !== (by === undefined), oneOfRule)
          .describe("The namespaces whose resources may name the project.")
          .meta(celRules({ rule: "has(self.names) != has(self.selector)", message: oneOfRule })),
      })
      .describe("A grant."),
  )
  .max(500)
  .optional()
  .describe(
    "Which namespaces may name which project. If it is present, it alone decides. Absent: the annotation endpoint-operator.dev/projects of Namespaces decides, as for the control plane of the settings.",
  );

/** The spec of a ControlPlane. */
export const controlPlaneSpecSchema = z
  .object({
    url,
    apiKeySecretRef: secretRef("the API key").describe(apiKey),
    requestsPerMinute,
    connection: connection(secretRef("the certificate authority").describe(authority).optional()),
  })
  .describe("A control plane for the resources of this namespace.");

/** The spec of a ClusterControlPlane. */
export const clusterControlPlaneSpecSchema = z
  .object({
    url,
    apiKeySecretRef: clusterSecretRef("the API key").describe(apiKey),
    requestsPerMinute,
    connection: connection(clusterSecretRef("the certificate authority").describe(authority).optional()),
    projects,
  })
  .describe("A control plane for the resources of several namespaces.");

/** The spec of either kind, in the form that the operator uses. */
export interface ControlPlaneSpec extends z.output<typeof controlPlaneSpecSchema> {
  readonly apiKeySecretRef: SecretRef;
  readonly projects?: z.output<typeof projects>;
}

/** A label selector of Kubernetes. */
export type LabelSelector = z.output<typeof selector>;

/** The status of a control plane. It never holds a key. */
export const controlPlaneStatusSchema = z
  .object({
    observedGeneration: z.int().optional().describe("The generation this status speaks of; -1: not looked at yet."),
    resources: z.int().optional().describe("Resources that use the control plane."),
    lastError: z
      .object({
        reason: z.string().describe("One word for programs, as in the metric of requests."),
        message: z.string().describe("What failed."),
        time: z.string().describe("When the operator first saw it, by its own clock."),
      })
      .optional()
      .describe("The last error that concerns the control plane as a whole."),
    heldSecrets: z
      .array(z.object({ namespace: z.string(), name: z.string() }).describe("A Secret."))
      .optional()
      .describe("Secrets that carry a finalizer of the operator, so that they stay while resources need the key."),
    conditions: conditionsSchema.optional(),
  })
  .describe("Whether the control plane can be used.");

/** The status of a control plane. */
export type ControlPlaneStatus = z.output<typeof controlPlaneStatusSchema>;
