/** Builds the CustomResourceDefinitions of all kinds from the schemas. */
import { z } from "zod";
import {
  clusterControlPlaneSpecSchema,
  controlPlaneSpecSchema,
  controlPlaneStatusSchema,
} from "../src/resource/control-plane-schema.ts";
import {
  databaseAccessSpecSchema,
  databaseAccessStatusSchema,
  foreignSecretRule,
} from "../src/resource/database-access-schema.ts";
import {
  branchNameRule,
  databaseBranchSpecSchema,
  databaseBranchStatusSchema,
} from "../src/resource/database-branch-schema.ts";
import {
  clusterControlPlaneNames,
  controlPlaneNames,
  databaseAccessNames,
  databaseBranchNames,
  group,
  kind,
  plural,
  shortName,
  version,
} from "../src/resource/names.ts";
import { type CelRule, celRules, specSchema } from "../src/resource/spec-schema.ts";
import { statusSchema } from "../src/resource/status-schema.ts";

/** A node of the structural schema, as the API server expects it (OpenAPI v3 with Kubernetes extensions). */
export interface StructuralSchema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly additionalProperties?: StructuralSchema;
  readonly items?: StructuralSchema;
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** A column of `kubectl get`. */
interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "date" | "integer";
  readonly jsonPath: string;
  readonly description: string;
  /** 1: `kubectl get` shows the column only with `-o wide`. */
  readonly priority?: 1;
}

/** Makes a column of `kubectl get`. */
function column(
  name: string,
  jsonPath: string,
  description: string,
  type: PrinterColumn["type"] = "string",
): PrinterColumn {
  return { name, type, jsonPath, description };
}

/** Makes a column that `kubectl get` shows only with `-o wide`. */
function wideColumn(...of: Parameters<typeof column>): PrinterColumn {
  return { ...column(...of), priority: 1 };
}

/** What the CustomResourceDefinition of one kind is made from. */
interface CrdKind {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  /** The scope of the kind. @default "Namespaced" */
  readonly scope?: "Namespaced" | "Cluster";
  readonly description: string;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  readonly printerColumns: readonly PrinterColumn[];
  /** Rules about the whole resource. @default none */
  readonly rules?: readonly CelRule[];
}

/** Returns the path of a condition's field, for a column of `kubectl get`. */
const conditionPath = (type: string, field: string): string => `.status.conditions[?(@.type=="${type}")].${field}`;

/** Returns the columns that every kind shows. @param ready what the condition Ready says about a resource of the kind */
function commonColumns(ready: string): readonly PrinterColumn[] {
  return [
    column("Ready", conditionPath("Ready", "status"), ready),
    column("Reason", conditionPath("Ready", "reason"), "Why the resource is Ready or not"),
    column("Age", ".metadata.creationTimestamp", "Time since the resource was created", "date"),
  ];
}

const messageColumn = wideColumn("Message", conditionPath("Ready", "message"), "What the condition Ready says");

/** The kind ComputeEndpoint. */
export const computeEndpointCrd: CrdKind = {
  kind,
  plural,
  shortName,
  description:
    "A ComputeEndpoint is a compute endpoint of a managed Postgres control plane. It runs the database of one branch. " +
    "The operator creates the endpoint, or adopts an existing one if spec allows that. It keeps the endpoint as spec says, " +
    "and shows the control plane's operations in status. A field that is absent from spec is not managed.",
  spec: specSchema,
  status: statusSchema,
  printerColumns: [
    column("Type", ".spec.type", "ReadWrite or ReadOnly"),
    column("Branch", ".status.branchId", "Branch of the endpoint"),
    column("State", ".status.state", "State of the compute in the control plane's own word"),
    column("Size", ".status.compute.size", "Smallest and largest compute units"),
    ...commonColumns("Whether the endpoint matches spec"),
    wideColumn("Endpoint", ".status.ownership.endpointId", "The endpoint it owns"),
    wideColumn("Host", ".status.host", "Direct host name"),
    wideColumn("Operation", ".status.operations[0].action", "Operation in flight, else the most recent one"),
    wideColumn(
      "OperationStatus",
      ".status.operations[0].status",
      "Status of that operation in the control plane's own word",
    ),
    // No date: kubectl shows a time of the control plane's clock that is ahead of its own as <invalid>.
    wideColumn("Since", ".status.operations[0].createdTime", "When the control plane scheduled that operation"),
    wideColumn("Failed", ".status.failedActions[0].action", "A failed action that no later success has cleared"),
    wideColumn("InSync", conditionPath("InSync", "status"), "Whether every managed field has the value of spec"),
    wideColumn("Pending", conditionPath("ChangePending", "reason"), "What a change that drops connections waits for"),
  ],
};

const planeColumns: readonly PrinterColumn[] = [
  column("URL", ".spec.url", "Base URL"),
  column("Resources", ".status.resources", "Resources that use it", "integer"),
  ...commonColumns("Whether resources can use the control plane"),
  wideColumn("LastError", ".status.lastError.reason", "The last error that concerns the control plane as a whole"),
];

/** The kind ControlPlane, which has a namespace. */
export const controlPlaneCrd: CrdKind = {
  ...controlPlaneNames,
  description:
    "A ControlPlane describes a control plane of managed Postgres. The resources of its namespace may name it in " +
    "spec.controlPlaneRef. Its API key is in a Secret of the same namespace.",
  spec: controlPlaneSpecSchema,
  status: controlPlaneStatusSchema,
  printerColumns: planeColumns,
};

/** The kind ClusterControlPlane, which belongs to the cluster. */
export const clusterControlPlaneCrd: CrdKind = {
  ...clusterControlPlaneNames,
  scope: "Cluster",
  description:
    "A ClusterControlPlane describes a control plane of managed Postgres. Resources of several namespaces may name it " +
    "in spec.controlPlaneRef. It says which namespaces may name which project.",
  spec: clusterControlPlaneSpecSchema,
  status: controlPlaneStatusSchema,
  printerColumns: planeColumns,
};

/** What the CustomResourceDefinition of DatabaseAccess is made from. */
export const databaseAccessCrd: CrdKind = {
  ...databaseAccessNames,
  description:
    "A DatabaseAccess is the access of one application to one database through one ComputeEndpoint of its namespace. " +
    "The operator makes sure that role and database exist, and writes a Secret with everything that the application " +
    "needs to connect. It keeps the Secret up to date when the endpoint moves or the password changes.",
  spec: databaseAccessSpecSchema,
  status: databaseAccessStatusSchema,
  rules: [foreignSecretRule],
  printerColumns: [
    column("Endpoint", ".spec.endpointRef.name", "The ComputeEndpoint"),
    column("Database", ".spec.database.name", "Name of the database"),
    column("Role", ".spec.role.name", "Name of the role"),
    column("Secret", ".status.binding.name", "The Secret to connect with"),
    ...commonColumns("Whether the Secret can be used"),
    wideColumn("Branch", ".status.endpoint.branchId", "The branch that holds the database"),
    wideColumn("Rotated", ".status.password.rotatedTime", "Time since the operator last reset the password", "date"),
  ],
};

/** The kind DatabaseBranch. */
export const databaseBranchCrd: CrdKind = {
  ...databaseBranchNames,
  description:
    "A DatabaseBranch is a branch of a managed Postgres control plane: a copy of the data of its parent. The operator " +
    "creates it and deletes it with the resource. With a lease, the control plane deletes it even if the cluster is gone.",
  spec: databaseBranchSpecSchema,
  status: databaseBranchStatusSchema,
  rules: [branchNameRule],
  printerColumns: [
    column("Project", ".spec.projectId", "The project of the branch"),
    column("Branch", ".status.branchId", "Id of the branch"),
    column("State", ".status.state", "State of the branch in the control plane's own word"),
    ...commonColumns("Whether the branch can be used"),
    wideColumn("Parent", ".status.parentId", "The branch that was copied"),
    wideColumn("Expires", ".status.expiresTime", "When the lease ends, unless it is renewed before"),
    wideColumn("Reset", ".status.lastResetTime", "Time since the branch last got its parent's data anew", "date"),
  ],
};

/**
 * Returns the schema of the whole resource: `apiVersion`, `kind`, `metadata`, `spec` and `status`.
 * It is structural: no references, no unions, and nothing that the API server would refuse.
 */
export function buildStructuralSchema(of: CrdKind): StructuralSchema {
  return {
    type: "object",
    description: of.description,
    properties: {
      apiVersion: { type: "string", description: `Always ${group}/${version}.` },
      kind: { type: "string", description: `Always ${of.kind}.` },
      metadata: { type: "object" },
      spec: structuralSchemaOf(of.spec),
      // kstatus reads -1 as "no operator has seen this resource yet", so the resource counts as in progress.
      status: { ...structuralSchemaOf(of.status), default: { observedGeneration: -1 } },
    },
    required: ["spec"],
    ...(of.rules && celRules(...of.rules)),
  };
}

/** With a CRD all its resources would be deleted, and their endpoints with them. So no tool may prune a CRD. */
const keepAnnotations = {
  "argocd.argoproj.io/sync-options": "Delete=false,Prune=false,ServerSideApply=true",
  "helm.sh/resource-policy": "keep",
  "kustomize.toolkit.fluxcd.io/prune": "disabled",
};

/**
 * Returns the CustomResourceDefinition, ready to be written as YAML. Pure. Its keys have the order in which people
 * write them.
 */
export function buildCrd(of: CrdKind): object {
  const { kind, plural, shortName, printerColumns, scope = "Namespaced" } = of;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, annotations: keepAnnotations },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        categories: ["database"],
      },
      scope,
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [...printerColumns, messageColumn],
          schema: { openAPIV3Schema: buildStructuralSchema(of) },
        },
      ],
    },
  };
}

function structuralSchemaOf(schema: z.ZodType): StructuralSchema {
  return z.toJSONSchema(schema, {
    io: "input",
    target: "openapi-3.0",
    reused: "inline",
    override: ({ jsonSchema }) => tidy(jsonSchema),
  }) as StructuralSchema;
}

/** The keywords that come first in the generated file, in this order. */
const firstKeywords = ["description", "type", "enum", "properties", "items", "additionalProperties", "required"];

/** Takes out what the API server refuses, and sorts the keywords. */
function tidy(node: Record<string, unknown>): void {
  const { ...before } = node;
  const others = Object.keys(before).filter((keyword) => !firstKeywords.includes(keyword));
  for (const keyword of [...firstKeywords, ...others]) {
    delete node[keyword];
    if (keyword in before && !isRefused(before, keyword)) node[keyword] = before[keyword];
  }
}

function isRefused(node: Readonly<Record<string, unknown>>, keyword: string): boolean {
  switch (keyword) {
    case "additionalProperties":
      // Beside `properties`, a structural schema forbids this keyword. The API server drops unknown members anyway.
      return node.properties !== undefined;
    case "minimum":
    case "maximum":
      // zod adds the bounds of a safe integer. They mean nothing to people, so they are left out.
      return Math.abs(Number(node[keyword])) === Number.MAX_SAFE_INTEGER;
    default:
      return false;
  }
}
