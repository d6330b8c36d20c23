/** All control planes: those that resources describe, and the one of the settings. */

import {
  fullGrant,
  type GrantMode,
  type GrantOf,
  type PlaneProblem,
  planeGrantOf,
  projectGrantOf,
} from "../decide/project-grant.ts";
import type { KindStanding } from "../domain/resource-store.ts";
import type { ControlPlaneUnit } from "../reconcile/ports.ts";
import {
  kindOfPlane,
  namespaceOfPlane,
  type PlaneResource,
  settingsPlane,
  unreadablePlane,
} from "../resource/control-plane-resource.ts";
import { Plane, type PlaneOptions } from "./plane.ts";
import { planeProblems } from "./plane-status.ts";
import { type TenantLimits, TenantPlanes } from "./tenant-limits.ts";

/** The control plane of the settings, and the grants and limits for the described ones. */
export interface PlanesOptions extends PlaneOptions {
  readonly settings: Pick<ControlPlaneUnit, "access" | "projects">;
  readonly grantMode: GrantMode;
  readonly tenantLimits: TenantLimits;
  /** Returns what the operator knows of the kind that would describe the control plane with this id. */
  readonly standingOf: (planeId: string) => KindStanding;
}

/** Finds a control plane by its id. */
export class Planes {
  readonly #options: PlanesOptions;
  readonly #planes = new Map<string, Plane>();
  readonly #tenants: TenantPlanes;
  readonly #settings: ControlPlaneUnit;

  constructor(options: PlanesOptions) {
    const { settings, namespaces, grantMode } = options;
    this.#options = options;
    this.#tenants = new TenantPlanes(options.tenantLimits);
    const grantOf: GrantOf = (namespace, projectId) =>
      projectGrantOf(projectId, namespaces.grantsOf(namespace), grantMode);
    this.#settings = { ...settings, id: settingsPlane, grantOf, problem: undefined, isKnown: true };
  }

  /** Returns the units of all control planes that are used or described. */
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
    return {
      ...{ id: planeId, projects: plane.projects, problem, isKnown: this.isKnown(planeId) },
      access: problem === undefined ? plane.access : undefined,
      grantOf: (namespace, projectId) => this.#grantOf(plane, namespace, projectId),
    };
  }

  /**
   * Whether the operator knows by now how the control plane is described. Before that, it decides only about deletions
   * that leave everything in place.
   */
  isKnown(planeId: string): boolean {
    if (planeId === settingsPlane) {
      return true;
    }
    return (
      kindOfPlane(planeId) === undefined ||
      (this.#options.standingOf(planeId) !== "NotAsked" && this.of(planeId).isKnown)
    );
  }

  of(planeId: string): Plane {
    const plane = this.#planes.get(planeId) ?? new Plane(planeId, this.#options);
    this.#planes.set(planeId, plane);
    return plane;
  }

  /**
   * Notes the resource that describes the control plane. The operator uses a limited number of ControlPlanes of one
   * namespace, so a new or deleted one can change whether another one is used.
   * @param resource `undefined`: nothing describes the control plane any more
   */
  note(planeId: string, resource: PlaneResource | undefined): void {
    const namespace = kindOfPlane(planeId) === "ControlPlane" ? namespaceOfPlane(planeId) : undefined;
    if (namespace === undefined) {
      this.of(planeId).note(resource);
      return;
    }
    for (const [id, limited] of this.#tenants.note(namespace, planeId, resource)) {
      const isChanged = this.of(id).note(limited);
      if (isChanged && id !== planeId) this.#options.onNews(id);
    }
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
    const standing = kind === undefined ? "Listed" : this.#options.standingOf(id);
    if (kind !== undefined && (standing === "NotServed" || standing === "Forbidden")) {
      return planeProblems.kindUnreadable(kind, standing);
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
