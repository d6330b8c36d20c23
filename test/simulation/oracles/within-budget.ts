/** Checks that calls stay within the request budget. */
import type { SentCall } from "../control-plane/sim-control-plane.ts";
import type { World } from "../run/world.ts";
import type { Oracle } from "./oracle.ts";

/** L3: calls to each control plane stay within the budget of each minute and each second. The defaults are 700 and 40. */
export function withinBudget(world: World): Oracle {
  const { CONTROL_PLANE_REQUESTS_PER_MINUTE = "700", CONTROL_PLANE_REQUESTS_PER_SECOND = "40" } =
    world.options.settings;
  const perSecond = Number(CONTROL_PLANE_REQUESTS_PER_SECOND);
  const limits = [
    { name: "minute", spanMs: 60_000, most: Number(CONTROL_PLANE_REQUESTS_PER_MINUTE) },
    { name: "second", spanMs: 1_000, most: perSecond },
  ];
  const sentTo = new Map<string, SentCall[]>();
  return {
    onControlPlaneCall(call) {
      const planeId = call.plane?.planeId ?? "";
      const sent = sentTo.get(planeId) ?? [];
      sentTo.set(planeId, sent);
      sent.push(call);
      for (const { name, spanMs, most } of limits) {
        if (sent.length <= most) continue;
        // A new process does not know what the one before it has sent. It begins with the budget of one second at most.
        const count = new Set(sent.slice(-most).map(({ process }) => process.identity)).size;
        const first = sent.at(-1 - most - (count - 1) * perSecond);
        const isOver = first !== undefined && world.time.nowMs() - first.sentAtMs < spanMs * 0.99;
        if (isOver) world.violate("L3", `more than ${most} calls were sent within a ${name}`);
      }
    },
  };
}
