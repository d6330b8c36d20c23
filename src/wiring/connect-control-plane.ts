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
import { createHttpClient, type HttpCallOptions } from "../control-plane/http-call.ts";
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
  readonly callOf?: ((target: CallTarget) => KeyedCall) | undefined;
}

export interface CallTarget extends Pick<PlaneTarget, "url" | "recordedAs"> {
  readonly fence: LeaderFence;
}

/** The caller must close the connection. @throws Error when the URL is not valid */
export function connectControlPlane(options: ConnectOptions, target: PlaneTarget): PlaneConnection {
  const { config, clock, logger, clusterId } = options;
  const { keys, recordedAs, label, onCallEnded, isInUse, requestsPerMinute = config.requestsPerMinute } = target;
  // A call of a former connection may end later. It must not bring back the metrics that were removed.
  const ifInUse = (report: () => void) => {
    if (isInUse()) report();
  };
  const metrics = options.metrics.of(label);
  const observer: ControlPlaneObserver = {
    ...metrics,
    callBegan: () => ifInUse(() => metrics.callBegan()),
    throttled: (reason) => ifInUse(() => metrics.throttled(reason)),
    keyJudged: (isAccepted) => ifInUse(() => metrics.keyJudged(isAccepted)),
  };
  const client = createClient({ ...options, observer }, target);
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
  const close = async () => {
    probing.stop();
    await client.close();
  };
  const setRequestsPerMinute: PlaneConnection["setRequestsPerMinute"] = (limit) =>
    budget.setRequestsPerMinute(limit ?? config.requestsPerMinute);
  return { access, unreadableCount: () => unreadable.count(), setRequestsPerMinute, close };
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

type ClientOptions = ConnectOptions & Pick<HttpCallOptions, "observer">;

function createClient(options: ClientOptions, { url, recordedAs, mayBeNearby }: PlaneTarget) {
  const { callOf, fence, version } = options;
  if (callOf !== undefined) {
    return { serviceUrl: parseServiceUrl(url), call: callOf({ url, recordedAs, fence }), close: async () => {} };
  }
  const userAgent = `endpoint-operator/${version}`;
  const { httpsProxy, noProxy: except = "" } = options.config;
  const proxy = httpsProxy === undefined ? undefined : { url: httpsProxy, except };
  return createHttpClient({ ...options, baseUrl: url, userAgent, writeTimeoutMs, mayBeNearby, proxy });
}
