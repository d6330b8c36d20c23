/** Checks that the kubelet would not restart a process that works. */
import { queueChecks } from "../../../src/telemetry/telemetry-servers.ts";
import type { World } from "../run/world.ts";
import type { Oracle } from "./oracle.ts";

/** L4: a process that still calls the control plane passes the check of its work queue. */
export function staysAlive(world: World): Oracle {
  return {
    onControlPlaneCall({ process }) {
      const { parts } = world.replicas.find((replica) => replica.process === process) ?? {};
      const [problem] = parts === undefined ? [] : queueChecks(parts.queueStats).map((check) => check.problem());
      if (problem !== undefined) world.violate("L4", `the kubelet restarts a working process: ${problem}`);
    },
  };
}
