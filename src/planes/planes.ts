/** All control planes, by their ids. */
import type { ControlPlaneUnit } from "../engine/context.ts";
import { settingsPlane } from "../resource/control-plane-resource.ts";
import { Plane, type PlaneOptions } from "./plane.ts";

export class Planes {
  readonly #options: PlaneOptions;
  readonly #planes = new Map<string, Plane>();

  constructor(options: PlaneOptions) {
    this.#options = options;
    this.of(settingsPlane).use(options.settings);
  }

  all(): readonly Plane[] {
    return [...this.#planes.values()];
  }

  /** If the control plane does not exist, its unit has a problem. */
  of(planeId: string): Plane {
    const plane = this.#planes.get(planeId) ?? new Plane(planeId, this.#options);
    this.#planes.set(planeId, plane);
    return plane;
  }

  unitOf(planeId: string): ControlPlaneUnit {
    return this.of(planeId).unit();
  }

  units(): readonly ControlPlaneUnit[] {
    return this.all().map((plane) => plane.unit());
  }

  /** @returns whether the control plane is forgotten: nothing describes it, and nothing of its projects is remembered */
  forgetUnused(planeId: string): boolean {
    if (this.#planes.get(planeId)?.isForgettable === true) {
      this.#planes.delete(planeId);
    }
    return !this.#planes.has(planeId);
  }

  async close(): Promise<void> {
    await Promise.all(this.all().map((plane) => plane.close()));
  }
}
