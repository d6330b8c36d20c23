/** What the CustomResourceDefinitions of ControlPlane and ClusterControlPlane are made from. */
import {
  clusterControlPlaneSpecSchema,
  controlPlaneSpecSchema,
  controlPlaneStatusSchema,
} from "./control-plane-schema.ts";
import { type CrdKind, commonColumns, type PrinterColumn } from "./crd.ts";
import { clusterControlPlaneNames, controlPlaneNames } from "./names.ts";

const printerColumns: readonly PrinterColumn[] = [
  { name: "URL", type: "string", jsonPath: ".spec.url", description: "Base URL" },
  { name: "Resources", type: "integer", jsonPath: ".status.resources", description: "Resources that use it" },
  ...commonColumns("Whether resources can use the control plane"),
  {
    name: "LastError",
    type: "string",
    jsonPath: ".status.lastError.reason",
    description: "The last error that concerns the control plane as a whole",
    priority: 1,
  },
];

/** The kind ControlPlane, which has a namespace. */
export const controlPlaneCrd: CrdKind = {
  ...controlPlaneNames,
  description:
    "A ControlPlane is a control plane of managed Postgres that the resources of its namespace may name in " +
    "spec.controlPlaneRef, with an API key of its own. The key is in a Secret of the same namespace.",
  spec: controlPlaneSpecSchema,
  status: controlPlaneStatusSchema,
  printerColumns,
};

/** The kind ClusterControlPlane, which belongs to the cluster. */
export const clusterControlPlaneCrd: CrdKind = {
  ...clusterControlPlaneNames,
  scope: "Cluster",
  description:
    "A ClusterControlPlane is a control plane of managed Postgres that resources of several namespaces may name in " +
    "spec.controlPlaneRef. It says which namespaces may name which project.",
  spec: clusterControlPlaneSpecSchema,
  status: controlPlaneStatusSchema,
  printerColumns,
};
