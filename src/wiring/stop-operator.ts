/** Stops the operator: its work, its events, the leader fence, the Lease and its connections, each within a time limit. */
import { shutDown } from "../runtime/shutdown.ts";
import type { OperatorOptions, OperatorParts } from "./operator-parts.ts";

const shutdownLimits = { passesMs: 20_000, eventsMs: 2_000, leaseMs: 4_000, closeMs: 5_000, tracesMs: 2_000 };

/** The longest time that a stop takes, in milliseconds. The pod's grace period is longer. */
export const shutdownLimitMs: number = Object.values(shutdownLimits).reduce((sum, limitMs) => sum + limitMs, 0);

/** Stops a running operator in steps. @returns whether the reconciles ended in time. */
export async function stopOperator(
  parts: Pick<OperatorParts, "stopWork" | "events" | "gate" | "leadership">,
  close: () => Promise<unknown>,
  { clock, logger, flushTraces }: Pick<OperatorOptions, "clock" | "logger" | "flushTraces">,
): Promise<boolean> {
  const { passesMs, eventsMs, leaseMs, closeMs, tracesMs } = shutdownLimits;
  let isInTime = false;
  let isQuiet = false;
  const passes = async () => {
    isInTime = await parts.stopWork(passesMs);
    return isInTime;
  };
  const events = async () => {
    const isFlushed = await parts.events.flush(eventsMs);
    isQuiet = isInTime && isFlushed;
    return isFlushed;
  };
  const closeGate = async () => parts.gate.close();
  // Work in progress needs the Lease until it ends, so the operator releases the Lease early only if no work is left.
  const handOver = () => (isQuiet ? parts.leadership.release(leaseMs) : parts.leadership.stop());
  const steps = [
    { name: "passes", limitMs: passesMs, run: passes },
    { name: "events", limitMs: eventsMs, run: events },
    { name: "gate", limitMs: 0, run: closeGate },
    { name: "lease", limitMs: leaseMs, run: handOver },
    { name: "close", limitMs: closeMs, run: close },
    ...(flushTraces === undefined ? [] : [{ name: "traces", limitMs: tracesMs, run: flushTraces }]),
  ];
  const unfinished = await shutDown(steps, { clock, logger });
  logger.info({ isInTime, unfinished }, "operator stopped");
  return isInTime;
}
