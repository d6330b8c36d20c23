/** All control planes: those that resources describe, and the one of the settings. */

import type { Identity } from "../decide/identity.ts";
import { fullGrant, type GrantOf, type PlaneProblem } from "../decide/project-grant.ts";
import type { GrantSource, KindGap } from "../domain/resource-store.ts";
import type { ControlPlaneUnit } from "../reconcile/ports.ts";
import { kindOfPlane, type PlaneResource, settingsPlane, unreadablePlane } from "../resource/control-plane-resource.ts";
import { type GrantMode, planeGrantOf, projectGrantOf } from "./grants.ts";
import { Plane, type PlaneOptions } from "./plane.ts";
import { planeProblems } from "./plane-status.ts";
import { withAllowedHost } from "./tenant-hosts.ts";

export interface PlanesOptions extends PlaneOptions {
  readonly settings: Pick<ControlPlaneUnit, "access" | "projects">;
  readonly grantMode: GrantMode;
  readonly namespaces: GrantSource;
  /** Returns why the operator does not watch the kind of the control plane with this id; `undefined`: it does. */
  readonly gapOf: (planeId: string) => KindGap | undefined;
}

export class Planes {
  readonly #options: PlanesOptions;
  readonly #planes = new Map<string, Plane>();
  readonly #settings: ControlPlaneUnit;

  constructor(options: PlanesOptions) {
    const { settings, namespaces, grantMode } = options;
    this.#options = options;
    const grantOf: GrantOf = (namespace, projectId) =>
      projectGrantOf(projectId, namespaces.grantsOf(namespace), grantMode);
    const identity = settings.access?.identity ?? this.#unusable;
    this.#settings = { ...settings, id: settingsPlane, identity, grantOf, problem: undefined, isKnown: true };
  }

  /** While a control plane cannot be used, its URL is unknown, and the identity has only the cluster. */
  get #unusable(): Identity {
    return { clusterId: this.#options.settings.access?.identity.clusterId ?? "", serviceUrl: "" };
  }

  units(): readonly ControlPlaneUnit[] {
    return [this.#settings, ...[...this.#planes.keys()].map((planeId) => this.unitOf(planeId))];
  }

  ids(): readonly string[] {
    return [...this.#planes.keys()];
  }

  /** Returns the unit of a control plane. If the control plane does not exist, its unit has a problem. */
  unitOf(planeId: string): ControlPlaneUnit {
    if (planeId === settingsPlane) {
      return this.#settings;
    }
    const plane = this.of(planeId);
    const problem = this.#problemOf(plane);
    const access = problem === undefined ? plane.access : undefined;
    return {
      ...{ id: planeId, projects: plane.projects, problem, isKnown: this.isKnown(planeId) },
      ...{ access, identity: access?.identity ?? this.#unusable },
      grantOf: (namespace, projectId) => this.#grantOf(plane, namespace, projectId),
    };
  }

  /** Whether its description is known by now. Before, only deletions that leave everything in place are decided. */
  isKnown(planeId: string): boolean {
    if (planeId === settingsPlane) {
      return true;
    }
    return kindOfPlane(planeId) === undefined || this.of(planeId).isKnown;
  }

  of(planeId: string): Plane {
    const plane = this.#planes.get(planeId) ?? new Plane(planeId, this.#options);
    this.#planes.set(planeId, plane);
    return plane;
  }

  /** @param resource `undefined`: nothing describes the control plane any more */
  note(planeId: string, resource: PlaneResource | undefined): void {
    this.of(planeId).note(resource && withAllowedHost(resource, this.#options.tenantHosts));
  }

  /** Forgets a control plane that no resource describes, if nothing is remembered of its projects. */
  forgetUnused(planeId: string): void {
    const plane = this.#planes.get(planeId);
    if (plane !== undefined && plane.resource === undefined && plane.projects.size === 0) {
      this.#planes.delete(planeId);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#planes.values()].map((plane) => plane.close()));
  }

  unreadableCount(): number {
    return [...this.#planes.values()].reduce((sum, plane) => sum + plane.unreadableCount(), 0);
  }

  #grantOf({ id, resource }: Plane, namespace: string, projectId: string) {
    const { namespaces, grantMode } = this.#options;
    const facts = namespaces.grantsOf(namespace);
    if (resource?.spec.kind !== "Valid") {
      // A ControlPlane belongs to its namespace. A ClusterControlPlane that does not exist looks like one without
      // `projects`, so that a namespace without a grant cannot find out which ones exist.
      return kindOfPlane(id) === "ClusterControlPlane" ? projectGrantOf(projectId, facts, grantMode) : fullGrant;
    }
    return planeGrantOf(resource, { namespace, projectId, facts }, grantMode);
  }

  #problemOf({ id, resource, key, access, isLeaving }: Plane): PlaneProblem | undefined {
    const kind = kindOfPlane(id);
    const gap = this.#options.gapOf(id);
    if (kind !== undefined && gap !== undefined) {
      return planeProblems.kindUnreadable(kind, gap);
    }
    if (id === unreadablePlane) {
      return planeProblems.refUnreadable;
    }
    if (resource === undefined || isLeaving) {
      return planeProblems.notFound(id);
    }
    return access === undefined || key.known?.kind !== "Read" ? planeProblems.notReady(id) : undefined;
  }
}
