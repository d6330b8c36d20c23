/** What the CustomResourceDefinitions of ControlPlane, ClusterControlPlane and DatabaseAccess are made from. */
import {
  clusterControlPlaneSpecSchema,
  controlPlaneSpecSchema,
  controlPlaneStatusSchema,
} from "./control-plane-schema.ts";
import { type CrdKind, column, commonColumns, type PrinterColumn, wideColumn } from "./crd.ts";
import { databaseAccessSpecSchema, databaseAccessStatusSchema } from "./database-access-schema.ts";
import { clusterControlPlaneNames, controlPlaneNames, databaseAccessNames } from "./names.ts";

const printerColumns: readonly PrinterColumn[] = [
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
  printerColumns,
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
  printerColumns,
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
