import type { ControlPlane } from "../domain/control-plane.ts";
import type { ProjectView } from "../domain/project-view.ts";
import type { Identity } from "../plan/observation.ts";
import type { CreateTurns } from "./create-turns.ts";
import type { ProjectLanes } from "./project-lanes.ts";

/** One control plane with everything this process shares about it. Today there is one; later one per credential. */
export interface Service {
  readonly identity: Identity;
  readonly controlPlane: ControlPlane;
  readonly view: ProjectView;
  readonly lanes: ProjectLanes;
  readonly turns: CreateTurns;
}
