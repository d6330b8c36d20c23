/** Checks that only the leader writes. */
import { isSuccess } from "../kubernetes/answers.ts";
import { isObject } from "../kubernetes/merge-patch.ts";
import type { KubernetesCall } from "../ports.ts";
import type { Process } from "../replica/process.ts";
import type { World } from "../run/world.ts";
import type { Oracle } from "./oracle.ts";

/** The operator's default. */
const leaseMs = 15_000;
const controlPlaneWriteMs = 8_000;

/** The rates of monotonic clocks may differ by a few parts in a thousand. */
const toleranceMs = 100;

/**
 * S5: an effect starts only on the leader, with enough time left in its lease, and after the new leader has listed all
 * resources.
 */
export function leaderOnly(world: World): Oracle {
  if (!world.options.hasElection) return {};
  const sentMs = new Map<KubernetesCall, number>();
  const wonMs = new Map<string, number>();
  const listedMs = new Map<string, number>();
  let holder = "";
  let renewedMs = Number.NEGATIVE_INFINITY;

  const judge = (process: Process, what: string, timeoutMs: number) => {
    const { identity } = process;
    if (holder !== identity) {
      world.violate("S5", `a replica that does not hold the lease starts to ${what}`);
    } else if (world.time.nowMs() + timeoutMs > renewedMs + leaseMs + toleranceMs) {
      world.violate("S5", `a replica starts to ${what} although its lease may end before that`);
    } else if ((listedMs.get(identity) ?? -1) < (wonMs.get(identity) ?? 0)) {
      world.violate("S5", "a new leader acts before it has listed the resources");
    }
  };
  return {
    onKubernetesCall(call, process) {
      if (isLease(call)) sentMs.set(call, world.time.nowMs());
      else if (isList(call)) listedMs.set(process.identity, world.time.nowMs());
      else if (call.method !== "GET" && !call.path.includes("/events"))
        judge(process, "change a resource", call.timeoutMs);
    },
    onKubernetesApplied(call, process, answer) {
      const wasSentMs = sentMs.get(call);
      sentMs.delete(call);
      if (!isLease(call) || call.method === "GET" || !isSuccess(answer) || wasSentMs === undefined) return;
      const spec = isObject(answer.body) ? answer.body.spec : undefined;
      const now = isObject(spec) ? String(spec.holderIdentity) : "";
      if (now !== holder) wonMs.set(process.identity, world.time.nowMs());
      holder = now;
      renewedMs = wasSentMs;
    },
    onControlPlaneCall({ call, process }) {
      if (call.method !== "GET") judge(process, `send a ${call.method}`, controlPlaneWriteMs);
    },
  };
}

function isLease({ path }: KubernetesCall): boolean {
  return path.includes("/leases");
}

function isList({ path, method, query }: KubernetesCall): boolean {
  return method === "GET" && path.endsWith("/computeendpoints") && query?.watch === undefined;
}
