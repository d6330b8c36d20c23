/** The hosts that ControlPlanes may name, because every team may describe its own. */
import { isNearbyHost } from "../domain/nearby-host.ts";
import type { PlaneResource } from "../resource/control-plane-resource.ts";

/** Names and addresses of hosts; `*.` stands for every subdomain. `undefined`: every host outside this machine and link. */
export type TenantHosts = readonly string[] | undefined;

/** If the host is not allowed, the spec counts as invalid and nothing is sent. */
export function withAllowedHost(resource: PlaneResource, hosts: TenantHosts): PlaneResource {
  if (resource.kind !== "ControlPlane" || resource.spec.kind !== "Valid") {
    return resource;
  }
  const { hostname } = new URL(resource.spec.spec.url);
  if (isAllowedHost(hostname, hosts)) {
    return resource;
  }
  const why =
    hosts === undefined
      ? "is on this machine or link, or is a metadata service"
      : "is not in TENANT_CONTROL_PLANE_HOSTS";
  const problems = `url: the host ${hostname} ${why}. An administrator of the cluster can allow it in the operator's setting TENANT_CONTROL_PLANE_HOSTS`;
  return { ...resource, spec: { kind: "Invalid", problems } };
}

/** Only for a ClusterControlPlane, or for a host that the settings list by its whole name. */
export function mayBeNearby({ kind }: Pick<PlaneResource, "kind">, url: string, hosts: TenantHosts): boolean {
  return kind !== "ControlPlane" || (hosts ?? []).includes(nameOf(new URL(url).hostname));
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
