/** Connects to a control plane: makes the client, what stands around its calls, and the request budget. */
import { hash } from "node:crypto";
import type { Config } from "../config.ts";
import {
  credentialStateAfter,
  holdAfterRefusedKey,
  holdAfterThrottling,
  withBudget,
  withOneKey,
} from "../control-plane/around-calls.ts";
import type { Call, KeyedCall } from "../control-plane/call.ts";
import { createHttpClient } from "../control-plane/http-call.ts";
import { RequestBudget } from "../control-plane/request-budget.ts";
import { parseServiceUrl } from "../control-plane/service-url.ts";
import { controlPlaneOf } from "../control-plane/typed-calls.ts";
import { UnreadableObjects } from "../control-plane/unreadable-objects.ts";
import type { Clock } from "../domain/clock.ts";
import type { ControlPlaneMetrics, ControlPlaneObserver } from "../domain/control-plane.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import type { Logger, Tracer } from "../domain/logger.ts";
import type { ControlPlaneAccess } from "../engine/context.ts";
import type { PlaneConnection, PlaneTarget } from "../planes/plane.ts";

/** For writes to the control plane and to Kubernetes. The lease must last longer. */
export const writeTimeoutMs = 8_000;

export interface ConnectOptions {
  readonly config: Pick<Config, "requestsPerSecond" | "requestsPerMinute"> &
    Partial<Pick<Config, "httpsProxy" | "noProxy">>;
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

/** The caller must close the connection. @throws Error when the URL is not valid */
export function connectControlPlane(options: ConnectOptions, target: PlaneTarget): PlaneConnection {
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
  const access: ControlPlaneAccess = {
    identity: { clusterId, serviceUrl, controlPlane: recordedAs },
    forCaller(caller) {
      const own = withOneKey(probing.call, keys);
      const { call, reserve } = withBudget(noting(own.call, onEnded), budget, caller);
      const controlPlane = controlPlaneOf({ serviceUrl, call, onListed: unreadable.note });
      return { controlPlane, reserve, keyMark: async () => hash("sha256", await own.key()) };
    },
    get pollsPerMinute() {
      return budget.pollsPerMinute;
    },
    makeUrgent: (projectId) => budget.makeUrgent(projectId),
    stopWaiting: () => budget.close(),
  };
  return {
    access,
    unreadableCount: () => unreadable.count(),
    setRequestsPerMinute: (limit = config.requestsPerMinute) => budget.setRequestsPerMinute(limit),
    async close() {
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

function createClient(options: ConnectOptions, target: PlaneTarget, observer: ControlPlaneObserver) {
  const { callOf, fence, version, config } = options;
  const { url: baseUrl, mayBeNearby } = target;
  if (callOf !== undefined) {
    return { serviceUrl: parseServiceUrl(baseUrl), call: callOf({ ...target, fence }), close: async () => {} };
  }
  const { httpsProxy, noProxy: except = "" } = config;
  const proxy = httpsProxy === undefined ? undefined : { url: httpsProxy, except };
  const userAgent = `endpoint-operator/${version}`;
  return createHttpClient({ ...options, observer, baseUrl, userAgent, writeTimeoutMs, mayBeNearby, proxy });
}
