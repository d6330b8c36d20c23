/** The limits that the settings of the operator put on ControlPlanes, because every team may describe its own. */
import { isNearbyHost } from "../domain/nearby-host.ts";
import { idOfPlane, type PlaneResource } from "../resource/control-plane-resource.ts";

/**
 * The limits for the ControlPlanes of namespaces. ClusterControlPlanes are written by the administrator, so they have
 * no limit.
 */
export interface TenantLimits {
  /** Names and addresses of hosts; `*.` stands for every subdomain. `undefined`: every host outside this machine and link. */
  readonly hosts: readonly string[] | undefined;
  readonly requestsPerMinute: number;
  /** The request budget of a ControlPlane that asks for none, if the limit allows as much. */
  readonly usualRequestsPerMinute: number;
  /** The maximum number of ControlPlanes in use of one namespace. */
  readonly planesPerNamespace: number;
}

/**
 * Returns the control plane as the operator may use it; a ClusterControlPlane is returned unchanged. A request budget
 * above the limit is lowered, and so is the usual budget of a ControlPlane that asks for none. If its host is not
 * allowed, or the namespace has too many ControlPlanes, its spec counts as invalid and nothing is sent. Pure.
 * @param isSurplus whether as many older ones of the namespace are in use as are allowed
 */
export function withinLimits(resource: PlaneResource, limits: TenantLimits, isSurplus: boolean): PlaneResource {
  if (resource.kind !== "ControlPlane" || resource.spec.kind !== "Valid") {
    return resource;
  }
  const { spec } = resource.spec;
  const { hosts, planesPerNamespace } = limits;
  const { hostname } = new URL(spec.url);
  if (!isAllowedHost(hostname, hosts)) {
    const why = hosts === undefined ? "is on this machine or link" : "is not in TENANT_CONTROL_PLANE_HOSTS";
    const problems = `url: the host ${hostname} ${why}. An administrator of the cluster can allow it in the operator's setting TENANT_CONTROL_PLANE_HOSTS`;
    return { ...resource, spec: { kind: "Invalid", problems } };
  }
  if (isSurplus) {
    const problems = `the namespace has more than ${planesPerNamespace} ControlPlanes, and the newest ones are not used. Delete others, or ask an administrator of the cluster to raise the operator's setting TENANT_CONTROL_PLANES_PER_NAMESPACE`;
    return { ...resource, spec: { kind: "Invalid", problems } };
  }
  const wanted = spec.requestsPerMinute ?? limits.usualRequestsPerMinute;
  const requestsPerMinute = Math.min(wanted, limits.requestsPerMinute);
  return { ...resource, spec: { kind: "Valid", spec: { ...spec, requestsPerMinute } } };
}

/** The ControlPlanes of one namespace by id, and the ids of those in use. */
interface OneNamespace {
  readonly stored: Map<string, PlaneResource>;
  readonly used: Set<string>;
}

/** The ControlPlanes as they are stored. The oldest ones of each namespace are used, up to the maximum number. */
export class TenantPlanes {
  readonly #limits: TenantLimits;
  readonly #namespaces = new Map<string, OneNamespace>();

  constructor(limits: TenantLimits) {
    this.#limits = limits;
  }

  /**
   * Notes a ControlPlane. `resource` is `undefined` if it is gone.
   * @returns by id: the noted ControlPlane, and each other one whose use begins or ends because of that, all within the
   *   limits. A value is `undefined` if that ControlPlane is gone
   */
  note(namespace: string, planeId: string, resource: PlaneResource | undefined) {
    const limits = this.#limits;
    const planes = this.#namespaces.get(namespace) ?? { stored: new Map(), used: new Set() };
    const { stored, used } = planes;
    const before = new Set(used);
    if (resource === undefined || stored.get(planeId)?.uid !== resource.uid) {
      replace(planes, planeId, { resource, most: limits.planesPerNamespace });
    } else {
      stored.set(planeId, resource);
    }
    if (stored.size === 0) {
      this.#namespaces.delete(namespace);
    } else {
      this.#namespaces.set(namespace, planes);
    }
    const changed = [...before, ...used].filter((id) => before.has(id) !== used.has(id));
    return new Map(
      [planeId, ...changed].map((id) => {
        const each = stored.get(id);
        return [id, each && withinLimits(each, limits, !used.has(id))] as const;
      }),
    );
  }
}

/**
 * Replaces a ControlPlane, and keeps the oldest ones in use. A namespace may have thousands, so they are not sorted.
 */
function replace(
  { stored, used }: OneNamespace,
  planeId: string,
  { resource, most }: { readonly resource: PlaneResource | undefined; readonly most: number },
): void {
  stored.delete(planeId);
  if (used.delete(planeId)) {
    const unused = [...stored.values()].filter((each) => !used.has(idOfPlane(each)));
    const [oldest] = unused.length === 0 ? [] : [unused.reduce((a, b) => (compareAge(b, a) < 0 ? b : a))];
    if (oldest !== undefined) used.add(idOfPlane(oldest));
  }
  if (resource !== undefined) {
    stored.set(planeId, resource);
    used.add(planeId);
    const inUse = [...used].flatMap((id) => stored.get(id) ?? []);
    if (used.size > most) used.delete(idOfPlane(inUse.reduce((a, b) => (compareAge(b, a) > 0 ? b : a))));
  }
}

function compareAge(a: PlaneResource, b: PlaneResource): number {
  return compare(a.creationTimestamp, b.creationTimestamp) || compare(a.key.name, b.key.name);
}

/**
 * Whether the host name of a control plane may lead to this machine or link. That is allowed for a ClusterControlPlane,
 * and for a host that the settings list by its whole name. Pure.
 */
export function mayBeNearby(
  { kind }: Pick<PlaneResource, "kind">,
  url: string,
  { hosts = [] }: Pick<TenantLimits, "hosts">,
): boolean {
  return kind !== "ControlPlane" || hosts.includes(nameOf(new URL(url).hostname));
}

/** Whether a ControlPlane may name the host. Names are not resolved. Pure. @param hostname as `URL` normalizes it */
export function isAllowedHost(hostname: string, hosts: readonly string[] | undefined): boolean {
  const name = nameOf(hostname);
  if (hosts === undefined) {
    return !isNearbyHost(name);
  }
  return hosts.some((host) => host === name || (host.startsWith("*.") && name.endsWith(host.slice(1))));
}

function nameOf(hostname: string): string {
  return hostname.replace(/\.$/, "");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
