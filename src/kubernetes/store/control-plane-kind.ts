/** How watch, cache and store treat the kinds ControlPlane and ClusterControlPlane. */
import {
  type PlaneResource,
  parseClusterControlPlane,
  parseControlPlane,
} from "../../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../../resource/control-plane-schema.ts";
import { clusterControlPlaneNames, controlPlaneNames } from "../../resource/names.ts";
import type { ResourceKind } from "./kind-parser.ts";

/** The parts that both kinds have in common. There are few control planes, so nothing is shared or indexed. */
const both: Pick<
  ResourceKind<PlaneResource, ControlPlaneStatus>,
  "withSharedTexts" | "projectsOf" | "unreadableMembers"
> = {
  withSharedTexts: (status) => status,
  projectsOf: () => [],
  unreadableMembers: () => [],
};

export const controlPlaneKind: ResourceKind<PlaneResource, ControlPlaneStatus> = {
  ...controlPlaneNames,
  ...both,
  many: "ControlPlanes",
  parse: parseControlPlane,
};

export const clusterControlPlaneKind: ResourceKind<PlaneResource, ControlPlaneStatus> = {
  ...clusterControlPlaneNames,
  ...both,
  many: "ClusterControlPlanes",
  parse: parseClusterControlPlane,
};
