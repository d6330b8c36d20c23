/** Checks that a finalizer is removed only when nothing is left to do. */
import type { StoredObject } from "../kubernetes/answers.ts";
import { intentOf, isLetGo, ownershipOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import { settleMs } from "./one-endpoint-each.ts";
import type { Oracle } from "./oracle.ts";

/**
 * S4: the finalizer is removed only when the endpoint is gone or retained. Also, no POST may be unresolved, unless a
 * person has abandoned it.
 */
export function finalizerLast(world: World): Oracle {
  const released = new Map<string, StoredObject>();
  return {
    onObject({ object, type }) {
      if (type !== "DELETED" || world.history.robbed.has(object.metadata.uid)) return;
      if (isUnrecorded(world, object)) return;
      released.set(object.metadata.uid, object);
      if (isLetGo(object)) return;
      if (world.madeFor(object.metadata.uid).length > 0) {
        world.violate("S4", "a resource was let go while the endpoint that it created is there");
      }
      const open = world.history
        .unresolvedPosts(object.metadata.uid)
        .some(({ sentAtMs }) => world.time.nowMs() - sentAtMs < settleMs * 0.99);
      if (open) world.violate("S4", "a resource was let go while a POST of it could still take effect");
    },
    atEnd() {
      for (const [uid, object] of released) {
        if (!world.history.robbed.has(uid) && !isLetGo(object) && world.madeFor(uid).length > 0) {
          world.violate("S4", "an endpoint lives on that was created for a resource which is gone");
        }
      }
    },
  };
}

/** Whether a resource was deleted after its status was lost, and before the operator had recorded its endpoint again. */
function isUnrecorded({ history }: World, object: StoredObject): boolean {
  const isEmpty = ownershipOf(object) === undefined && intentOf(object) === undefined;
  return isEmpty && history.statusLost.has(object.metadata.uid);
}
