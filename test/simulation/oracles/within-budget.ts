/** Checks that calls stay within the request budget. */
import type { World } from "../run/world.ts";
import type { Oracle } from "./oracle.ts";

const minuteMs = 60_000;

/** L3: calls to the control plane stay within the budget of each minute and each second. The defaults are 700 and 40. */
export function withinBudget(world: World): Oracle {
  const { CONTROL_PLANE_REQUESTS_PER_MINUTE = "700", CONTROL_PLANE_REQUESTS_PER_SECOND = "40" } =
    world.options.settings;
  const perSecond = Number(CONTROL_PLANE_REQUESTS_PER_SECOND);
  const limits = [
    { name: "minute", spanMs: minuteMs, most: Number(CONTROL_PLANE_REQUESTS_PER_MINUTE) },
    { name: "second", spanMs: 1_000, most: perSecond },
  ];
  return {
    onControlPlaneCall() {
      const { controlPlaneCallMs: sent, senders } = world.history;
      for (const { name, spanMs, most } of limits) {
        // A new process does not know what the one before it has sent. It begins with the budget of one second at most.
        const count = new Set(senders.slice(-most)).size;
        const first = sent.at(-1 - most - (count - 1) * perSecond);
        const isOver = first !== undefined && world.time.nowMs() - first < spanMs * 0.99;
        if (isOver) world.violate("L3", `more than ${most} calls were sent within a ${name}`);
      }
    },
  };
}
