/** The control plane of the settings, for tests. */
import { fullGrant } from "../../src/engine/grant.ts";
import type { ControlPlaneAccess, ControlPlaneUnit } from "../../src/engine/context.ts";
import type { Projects } from "../../src/engine/memory.ts";

/** Makes a control plane that every namespace may use, like the one of the settings. */
export function settingsUnit(access: ControlPlaneAccess, projects: Projects): ControlPlaneUnit {
  return {
    ...{ id: "", access, identity: access.identity, projects, problem: undefined, isKnown: true },
    grantOf: () => fullGrant,
  };
}
