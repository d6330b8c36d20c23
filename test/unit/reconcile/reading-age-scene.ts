import type { ObservedEndpoint } from "../../../src/domain/endpoint.ts";
import { observedEndpoint } from "../../support/fakes/observed-endpoint.ts";
import type { ReconcilerWorld } from "./reconciler-world.ts";

export const projectId = "green-fox-123456";

/** The calls of one reading of a project. */
export const reading = ["listOperations", "listEndpoints"];

/** A read-write endpoint of the main branch that another hand makes now. */
export function foreignEndpoint({ clock }: ReconcilerWorld): ObservedEndpoint {
  const createdTime = new Date(clock.nowMs()).toISOString();
  return observedEndpoint({ id: "ep-foreign-1", projectId, branchId: "br-main-1", createdTime });
}

/** Somebody else has the project read now, so that the next pass finds a reading made before it; earlier calls are forgotten. */
export async function somebodyReads({ operator, clock, service }: ReconcilerWorld): Promise<void> {
  await operator.connected.view.read(projectId, clock.monotonicMs());
  await clock.advance(1);
  service.calls.splice(0);
}
