import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ControlPlaneRef } from "../resource/control-plane-resource.ts";
import { group, kind, version } from "../resource/names.ts";

export function operationsText({ status }: ComputeEndpoint): string {
  const rows = (status.operations ?? []).map((operation) => [
    operation.createdTime,
    operation.action,
    operation.status,
    operation.durationMilliseconds === undefined ? "" : `${(operation.durationMilliseconds / 1_000).toFixed(1)} s`,
    operation.cause,
    operation.id,
    operation.error ?? "",
  ]);
  return tableText(["CREATED", "ACTION", "STATUS", "TOOK", "CAUSE", "OPERATION", "ERROR"], rows);
}

/** `serviceUrl`: the control plane that listed the endpoints. Another one may have an endpoint of the same id. */
export function unownedEndpoints(
  endpoints: readonly ObservedEndpoint[],
  resources: readonly ComputeEndpoint[],
  serviceUrl: string,
): readonly ObservedEndpoint[] {
  const here = resources.filter(({ status }) => (status.ownership?.serviceUrl ?? serviceUrl) === serviceUrl);
  const owned = new Set(here.flatMap(({ claimedId }) => claimedId ?? []));
  return endpoints.filter(({ id }) => !owned.has(id));
}

export function endpointsText(endpoints: readonly ObservedEndpoint[]): string {
  const rows = endpoints.map(({ id, projectId, branchId, type, state }) => [projectId, id, type, branchId, state]);
  return tableText(["PROJECT", "ENDPOINT", "TYPE", "BRANCH", "STATE"], rows);
}

/** The resource changes nothing, and the endpoint stays after it. Without `controlPlaneRef`: that of the settings. */
export function adoptionManifest(
  endpoint: ObservedEndpoint,
  namespace: string,
  controlPlaneRef: ControlPlaneRef | undefined,
): object {
  const { id, projectId, branchId, type } = endpoint;
  return {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name: id, namespace },
    spec: {
      ...(controlPlaneRef && { controlPlaneRef }),
      ...{ projectId, branchId, type },
      adoption: { policy: "AdoptOnly", endpointId: id },
      deletionPolicy: "Retain",
    },
  };
}

/** Returns manifests as one List for `kubectl apply`. The text is JSON, which is also YAML. Pure. */
export function manifestsText(manifests: readonly object[]): string {
  return `${JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests }, undefined, 2)}\n`;
}

function tableText(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  const lines = all.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("   "));
  return `${lines.map((line) => line.trimEnd()).join("\n")}\n`;
}
