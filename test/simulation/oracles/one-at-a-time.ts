/** Checks that no two reconciles of one project overlap. */
import type { SentCall } from "../control-plane/sim-control-plane.ts";
import type { World } from "../run/world.ts";
import type { Oracle } from "./oracle.ts";

/** S7: one process never reconciles a project twice at the same time. The oracle notices it if two writes overlap. */
export function oneAtATime(world: World): Oracle {
  const underWay = new Map<string, SentCall>();
  const keyOf = ({ call, process, plane }: SentCall) => `${process.identity} ${plane?.planeId ?? ""} ${call.projectId}`;
  return {
    onControlPlaneCall(sent) {
      if (sent.call.method === "GET") return;
      if (underWay.has(keyOf(sent))) world.violate("S7", "two writes to one project are under way at once");
      underWay.set(keyOf(sent), sent);
    },
    onControlPlaneSettled(sent) {
      if (underWay.get(keyOf(sent)) === sent) underWay.delete(keyOf(sent));
    },
  };
}
