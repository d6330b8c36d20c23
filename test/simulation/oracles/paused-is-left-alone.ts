/** Checks that nothing is sent for a paused or only observed resource. */
import { isPausedByPerson } from "../run/settled.ts";
import { isObserved, ownershipOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import type { Oracle } from "./oracle.ts";

/** The operator learns of a pause within this time, unless a fault delays the event. */
const newsMs = 10_000;

/**
 * S6: the operator sends nothing for a resource that has been paused for a while, unless a fault has delayed the
 * event.
 */
export function pausedIsLeftAlone(world: World): Oracle {
  const pausedMs = new Map<string, number>();
  return {
    onObject({ object }) {
      const { uid } = object.metadata;
      if (!isPausedByPerson(object) && !isObserved(object)) pausedMs.delete(uid);
      else if (!pausedMs.has(uid)) pausedMs.set(uid, world.time.nowMs());
    },
    onControlPlaneCall({ call, creator }) {
      if (call.method === "GET" || world.history.isWatchHarmed || world.options.faults.kind === "Seeded") return;
      const owner = world.resources().find((resource) => ownershipOf(resource)?.endpointId === call.endpointId);
      const uid = creator.by === "Operator" ? creator.uid : owner?.metadata.uid;
      const sinceMs = pausedMs.get(uid ?? "");
      if (sinceMs !== undefined && world.time.nowMs() - sinceMs > newsMs) {
        world.violate("S6", `a ${call.method} was sent for a paused or observed resource`);
      }
    },
  };
}
