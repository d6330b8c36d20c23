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
 * Returns the control plane as the operator may use it. A request budget above the limit is lowered, also the one
 * that it gets because it asks for none. If its host is not allowed, or the namespace has too many control planes, its
 * spec counts as invalid and nothing is sent. Pure.
 * @param isSurplus whether the namespace has too many older ones
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

/**
 * The ControlPlanes of one namespace. The oldest ones are used, up to the maximum number. A namespace may have thousands
 * of them, so a change compares a new one with those in use, and not all with each other.
 */
export class NamespacePlanes {
  readonly #most: number;
  readonly #stored = new Map<string, PlaneResource>();
  readonly #used = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#stored.size;
  }

  get(planeId: string): PlaneResource | undefined {
    return this.#stored.get(planeId);
  }

  /** Whether the namespace has too many older ones. */
  isSurplus(planeId: string): boolean {
    return !this.#used.has(planeId);
  }

  /**
   * Notes one of them. @param resource `undefined`: it is gone
   * @returns the others that are used from now on, or no longer used
   */
  note(planeId: string, resource: PlaneResource | undefined): readonly string[] {
    if (resource !== undefined && this.#stored.get(planeId)?.uid === resource.uid) {
      this.#stored.set(planeId, resource);
      return [];
    }
    const before = new Set(this.#used);
    this.#stored.delete(planeId);
    if (this.#used.delete(planeId)) {
      this.#useOldest();
    }
    if (resource !== undefined) {
      this.#stored.set(planeId, resource);
      this.#used.add(planeId);
      this.#dropYoungest();
    }
    const all = new Set([...before, ...this.#used]);
    return [...all].filter((id) => id !== planeId && before.has(id) !== this.#used.has(id));
  }

  #useOldest(): void {
    let oldest: readonly [string, PlaneResource] | undefined;
    for (const each of this.#stored) {
      if (!this.#used.has(each[0]) && (oldest === undefined || compareAge(each[1], oldest[1]) < 0)) {
        oldest = each;
      }
    }
    if (oldest !== undefined) {
      this.#used.add(oldest[0]);
    }
  }

  #dropYoungest(): void {
    if (this.#used.size > this.#most) {
      const used = [...this.#used].flatMap((id) => this.#stored.get(id) ?? []);
      const [youngest] = used.sort(compareAge).slice(-1);
      this.#used.delete(youngest === undefined ? "" : idOfPlane(youngest));
    }
  }
}

function compareAge(a: PlaneResource, b: PlaneResource): number {
  return compare(a.creationTimestamp, b.creationTimestamp) || compare(a.key.name, b.key.name);
}

/**
 * Whether the host name of a control plane may lead to this machine or link. It may for an administrator's own control plane,
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
