import type { DatabaseSettings } from "../domain/control-plane.ts";
import { isNearbyHost } from "../domain/nearby-host.ts";
import type { PlaneResource } from "../resource/control-plane-resource.ts";
import type { ControlPlaneSpec, SecretRef } from "../resource/control-plane-schema.ts";
import { keyInSecrets, type ReadKey, type SecretEntry, type SecretReads } from "./api-key.ts";

export interface PlaneSource {
  readonly url: string;
  /** Names the URL, the Secrets whose values may be sent there, and the request budget. Another text makes another `Plane`. */
  readonly place: string;
  readonly readKey: ReadKey;
  /** The interval at which a good key is read again, in milliseconds. */
  readonly keyAgainMs: number;
  /** The maximum number of requests per minute; `undefined`: the value of the settings. */
  readonly requestsPerMinute?: number | undefined;
  readonly mayBeNearby: boolean;
  readonly databases: DatabaseSettings;
  /** The grants of a ClusterControlPlane; `undefined`: the annotation of the Namespace grants. */
  readonly projects?: ControlPlaneSpec["projects"];
}

export interface SourceOptions {
  readonly secrets: SecretReads;
  readonly tenantHosts: TenantHosts;
  readonly settings: PlaneSource;
}

/** @returns `undefined`: there is no resource, or its spec is not valid */
export function sourceOf(
  resource: PlaneResource | undefined,
  { secrets, tenantHosts, settings: { databases } }: SourceOptions,
): PlaneSource | undefined {
  if (resource?.spec.kind !== "Valid") {
    return undefined;
  }
  const { url, requestsPerMinute, projects, apiKeySecretRef, connection = {} } = resource.spec.spec;
  const { port = databases.port, sslMode = databases.sslMode, caSecretRef } = connection;
  // The Secret with the authority is read with the key.
  const certificateAuthority = caSecretRef === undefined ? databases.certificateAuthority : undefined;
  // A ControlPlane can only use Secrets of its own namespace.
  const ownNamespace = resource.kind === "ControlPlane" ? resource.key.namespace : undefined;
  const entryOf = (ref: SecretRef): SecretEntry => ({ ...ref, namespace: ownNamespace ?? ref.namespace ?? "" });
  return {
    url,
    requestsPerMinute,
    projects,
    place: JSON.stringify([resource.uid, url, apiKeySecretRef, caSecretRef, requestsPerMinute]),
    ...keyInSecrets(secrets, entryOf(apiKeySecretRef), caSecretRef && entryOf(caSecretRef)),
    databases: { port, sslMode, certificateAuthority },
    // A host near this machine: only for a ClusterControlPlane, or if the settings list it by its whole name.
    mayBeNearby: ownNamespace === undefined || (tenantHosts ?? []).includes(nameOf(new URL(url).hostname)),
  };
}

/** The hosts that ControlPlanes may name, because every team may describe its own. `*.` stands for every subdomain. `undefined`: every host outside this machine and link. */
export type TenantHosts = readonly string[] | undefined;

/** If the host is not allowed, the spec counts as invalid and nothing is sent. */
export function withAllowedHost(resource: PlaneResource, hosts: TenantHosts): PlaneResource {
  if (resource.spec.kind === "Invalid") return resource;
  const { hostname } = new URL(resource.spec.spec.url);
  if (isAllowedHost(hostname, hosts)) return resource;
  const why =
    hosts === undefined
      ? "is on this machine or link, or is a metadata service"
      : "is not in TENANT_CONTROL_PLANE_HOSTS";
  const problems = `url: the host ${hostname} ${why}. An administrator of the cluster can allow it in the operator's setting TENANT_CONTROL_PLANE_HOSTS`;
  return { ...resource, spec: { kind: "Invalid", problems } };
}

/** Whether a ControlPlane may name the host. Names are not resolved. Pure. @param hostname as `URL` normalizes it */
export function isAllowedHost(hostname: string, hosts: TenantHosts): boolean {
  const name = nameOf(hostname);
  if (hosts === undefined) {
    return !isNearbyHost(name);
  }
  return hosts.some((host) => host === name || (host.startsWith("*.") && name.endsWith(host.slice(1))));
}

function nameOf(hostname: string): string {
  return hostname.replace(/\.$/, "");
}
