/** Connects to a control plane: makes the client, what stands around its calls, and the request budget. */
import { hash } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import type { Caller, ControlPlaneMetrics, ControlPlaneObserver } from "../domain/control-plane.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import type { Logger, Tracer } from "../domain/logger.ts";
import {
  credentialStateAfter,
  holdAfterRefusedKey,
  holdAfterThrottling,
  withBudget,
  withOneKey,
} from "./around-calls.ts";
import type { Call, KeyedCall } from "./call.ts";
import { createHttpClient, type HttpClient } from "./http-call.ts";
import type { KeySource } from "./key-source.ts";
import { RequestBudget } from "./request-budget.ts";
import { parseServiceUrl } from "./service-url.ts";
import { controlPlaneOf } from "./typed-calls.ts";
import { UnreadableObjects } from "./unreadable-objects.ts";

/** What all control planes share. */
export interface ConnectOptions {
  readonly config: {
    readonly requestsPerSecond: number;
    readonly requestsPerMinute: number;
    readonly httpsProxy?: string | undefined;
    readonly noProxy?: string | undefined;
  };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly clusterId: string;
  readonly version: string;
  readonly tracer?: Tracer | undefined;
  readonly metrics: ControlPlaneMetrics;
  readonly fence: LeaderFence;
  /** @default over HTTP */
  readonly callOf?:
    | ((target: Pick<PlaneTarget, "url" | "recordedAs"> & { readonly fence: LeaderFence }) => KeyedCall)
    | undefined;
}

export interface PlaneTarget {
  readonly url: string;
  /** The maximum number of requests per minute; `undefined`: the value of the settings. */
  readonly requestsPerMinute?: number | undefined;
  /** Whether its host may be on this machine or link. */
  readonly mayBeNearby: boolean;
  readonly keys: KeySource;
  /** Its name in ownership records; `undefined`: they name none. */
  readonly recordedAs: string | undefined;
  readonly label: string;
  /** A call has ended. It must not throw. @param error `undefined`: it succeeded */
  readonly onCallEnded: (error: unknown) => void;
  /** Whether this connection and its key are still in use. A call over a former connection may end later. */
  readonly isInUse: () => boolean;
}

export type PlaneConnection = ReturnType<typeof connectControlPlane>;

/** The caller must close the connection. @throws Error when the URL is not valid */
export function connectControlPlane(options: ConnectOptions, target: PlaneTarget) {
  const { config, clock, logger, clusterId } = options;
  const { keys, recordedAs, onCallEnded, requestsPerMinute = config.requestsPerMinute } = target;
  const observer = observerOf(options, target);
  const client = createClient(options, target, observer);
  const { serviceUrl } = client;
  const held = holdAfterThrottling(client.call, { clock, observer });
  const probing = holdAfterRefusedKey(held, { clock, keys });
  const onEnded = (error: unknown) => {
    const state = credentialStateAfter(error);
    if (state !== "Unclear") observer.keyJudged(state === "Accepted");
    onCallEnded(error);
  };
  const unreadable = new UnreadableObjects({ clock, logger });
  const { requestsPerSecond } = config;
  const budget = new RequestBudget({ clock, requestsPerMinute, requestsPerSecond, observer });
  const access = {
    identity: { clusterId, serviceUrl, controlPlane: recordedAs },
    forCaller(caller: Caller) {
      const own = withOneKey(probing.call, keys);
      const { call, reserve } = withBudget(noting(own.call, onEnded), budget, caller);
      const controlPlane = controlPlaneOf({ serviceUrl, call, onListed: unreadable.note });
      return { controlPlane, reserve, keyMark: async () => hash("sha256", await own.key()) };
    },
    pollsPerMinute: budget.pollsPerMinute,
    makeUrgent: (projectId: string) => budget.makeUrgent(projectId),
    stopWaiting: () => budget.close(),
  };
  return {
    access,
    unreadableCount: () => unreadable.count(),
    /** Requests that wait for the budget are put off. */
    async close() {
      budget.close();
      probing.stop();
      await client.close();
    },
  };
}

/** A call of a former connection may end later. It must not bring back the metrics that were removed. */
function observerOf({ metrics }: ConnectOptions, { label, isInUse }: PlaneTarget): ControlPlaneObserver {
  const own = metrics.of(label);
  return {
    ...own,
    callBegan: () => isInUse() && own.callBegan(),
    throttled: (reason) => isInUse() && own.throttled(reason),
    keyJudged: (isAccepted) => isInUse() && own.keyJudged(isAccepted),
  };
}

function noting(call: Call, onEnded: (error: unknown) => void): Call {
  return async (request) => {
    try {
      const value = await call(request);
      onEnded(undefined);
      return value;
    } catch (error) {
      onEnded(error);
      throw error;
    }
  };
}

function createClient(options: ConnectOptions, target: PlaneTarget, observer: ControlPlaneObserver): HttpClient {
  const { callOf, fence, version, config } = options;
  const { url: baseUrl, mayBeNearby } = target;
  if (callOf !== undefined) {
    return { serviceUrl: parseServiceUrl(baseUrl), call: callOf({ ...target, fence }), close: async () => {} };
  }
  const { httpsProxy, noProxy: except = "" } = config;
  const proxy = httpsProxy === undefined ? undefined : { url: httpsProxy, except };
  const userAgent = `endpoint-operator/${version}`;
  return createHttpClient({ ...options, observer, baseUrl, userAgent, mayBeNearby, proxy });
}
