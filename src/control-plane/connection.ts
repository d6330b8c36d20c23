/** Connects to a control plane: makes the client, what stands around its calls, and the request budget. */
import { hash } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import type { CallCounts, Caller, ControlPlaneMetrics, ControlPlaneObserver } from "../domain/control-plane.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import type { Logger, Tracer } from "../domain/logger.ts";
import type { ProxySettings } from "../http/transport.ts";
import { planeLabel, recordedName } from "../resource/control-plane-resource.ts";
import { holdAfterRefusedKey, holdAfterThrottling, withBudget, withOneKey } from "./around-calls.ts";
import type { Call, KeyedCall, KeySource } from "./call.ts";
import { createHttpClient, type HttpClient, serviceUrlOf } from "./http-call.ts";
import { RequestBudget } from "./request-budget.ts";
import { controlPlaneOf } from "./typed-calls.ts";
import { countUnreadable } from "./unreadable-objects.ts";

/** What all control planes share. */
export interface ConnectOptions {
  readonly config: ProxySettings & { readonly requestsPerSecond: number; readonly requestsPerMinute: number };
  readonly clock: Clock;
  readonly clusterId: string;
  readonly version: string;
  readonly logger: Logger;
  readonly tracer?: Tracer | undefined;
  readonly metrics: ControlPlaneMetrics;
  readonly fence: LeaderFence;
  /** @default over HTTP */
  readonly callOf?:
    | ((target: Pick<PlaneTarget, "id" | "url"> & { readonly fence: LeaderFence }) => KeyedCall)
    | undefined;
}

export interface PlaneTarget {
  readonly id: string;
  readonly url: string;
  /** The maximum number of requests per minute; `undefined`: the value of the settings. */
  readonly requestsPerMinute?: number | undefined;
  /** Whether its host may be on this machine or link. */
  readonly mayBeNearby: boolean;
  readonly keys: KeySource;
  /** A call has ended. It must not throw. @param error `undefined`: it succeeded */
  readonly onCallEnded: (error: unknown) => void;
}

export type PlaneConnection = ReturnType<typeof connectControlPlane>;

/** The caller must close the connection. @throws Error when the URL is not valid */
export function connectControlPlane(options: ConnectOptions, target: PlaneTarget) {
  const { config, clock, clusterId, metrics, logger } = options;
  const { id, keys, onCallEnded, requestsPerMinute = config.requestsPerMinute } = target;
  const { counts, observer } = countingCalls(metrics);
  const client = createClient(options, target, observer);
  const { serviceUrl } = client;
  const held = holdAfterThrottling(client.call, { clock, observer });
  const probing = holdAfterRefusedKey(held, { clock, keys });
  const unreadable = countUnreadable(logger, planeLabel(id));
  const { requestsPerSecond } = config;
  const budget = new RequestBudget({ clock, requestsPerMinute, requestsPerSecond, observer });
  const access = {
    identity: { clusterId, serviceUrl, controlPlane: recordedName(id) },
    forCaller(caller: Caller) {
      const own = withOneKey(probing.call, keys);
      const noted: Call = (request) => {
        const answer = own.call(request);
        void answer.then(() => onCallEnded(undefined), onCallEnded);
        return answer;
      };
      const { call, reserve } = withBudget(noted, budget, caller);
      const controlPlane = controlPlaneOf({ serviceUrl, call, onListed: unreadable.note });
      return { controlPlane, reserve, keyMark: async () => hash("sha256", await own.key()) };
    },
    get pollsPerMinute() {
      return budget.pollsPerMinute;
    },
    makeUrgent: (projectId: string) => budget.makeUrgent(projectId),
    stopWaiting: () => budget.close(),
  };
  return {
    access,
    counts,
    unreadableCount: () => unreadable.count(),
    /** Requests that wait for the budget are put off. */
    async close() {
      budget.close();
      probing.stop();
      await client.close();
    },
  };
}

function countingCalls(metrics: ControlPlaneMetrics): { counts: CallCounts; observer: ControlPlaneObserver } {
  const throttled = { TooManyRequests: 0, HeldBack: 0, BudgetUsedUp: 0 };
  const counts = { calls: 0, throttled };
  const observer: ControlPlaneObserver = {
    ...metrics,
    callBegan() {
      counts.calls += 1;
    },
    throttled(reason) {
      throttled[reason] += 1;
    },
  };
  return { counts, observer };
}

function createClient(options: ConnectOptions, target: PlaneTarget, observer: ControlPlaneObserver): HttpClient {
  const { callOf, fence, version, config: proxy } = options;
  const { url: baseUrl, mayBeNearby } = target;
  if (callOf !== undefined) {
    return { serviceUrl: serviceUrlOf(baseUrl), call: callOf({ ...target, fence }), close: async () => {} };
  }
  const userAgent = `endpoint-operator/${version}`;
  return createHttpClient({ ...options, observer, baseUrl, userAgent, mayBeNearby, proxy });
}
