import { type ComputeEndpoint, parseComputeEndpoint, projectsOf } from "../../resource/compute-endpoint.ts";
import { finalizer, kind, plural } from "../../resource/names.ts";
import type { ComputeEndpointStatus } from "../../resource/status-schema.ts";
import type { ResourceKind } from "./resource-kind.ts";
import { withSharedTexts } from "./with-shared-texts.ts";

/** The kind ComputeEndpoint, as watch, cache and store see it. */
export const computeEndpointKind: ResourceKind<ComputeEndpoint, ComputeEndpointStatus> = {
  kind,
  many: `${kind}s`,
  plural,
  finalizer,
  parse: parseComputeEndpoint,
  withSharedTexts,
  projectsOf,
  // Records that cannot be read are evidence: they stay as they are until a person acts.
  unreadableMembers: ({ isOwnershipReadable }) => (isOwnershipReadable ? [] : ["ownership", "createIntent"]),
};
