/** Connects to a control plane: makes the client, the checks before its calls, and the request budget. */

import { hash } from "node:crypto";
import type { Config } from "../config.ts";
import { budgetGuards, createRefusedKeyGuard, fenceGuard, throttleGuard } from "../control-plane/call-guards.ts";
import { type ControlPlaneClientOptions, createControlPlane } from "../control-plane/create-control-plane.ts";
import { askedOnce, type KeySource } from "../control-plane/key-source.ts";
import { RequestBudget } from "../control-plane/request-budget.ts";
import { UnreadableObjects } from "../control-plane/unreadable-objects.ts";
import type { Clock } from "../domain/clock.ts";
import {
  type CallGuard,
  type CallGuards,
  type ControlPlane,
  type ControlPlaneObserver,
  guardCalls,
  type PlaneObserver,
} from "../domain/control-plane.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import type { Logger, Tracer } from "../domain/logger.ts";
import type { PlaneConnection, PlaneTarget } from "../planes/plane.ts";
import type { ControlPlaneAccess } from "../reconcile/ports.ts";

/** For writes to the control plane and to Kubernetes. The lease must last longer. */
export const writeTimeoutMs = 8_000;

export interface ConnectOptions {
  readonly config: Pick<Config, "requestsPerSecond" | "requestsPerMinute">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly clusterId: string;
  readonly version: string;
  readonly tracer?: Tracer | undefined;
  readonly observer: ControlPlaneObserver & PlaneObserver;
  readonly fence: LeaderFence;
}

type CallKeys = Pick<KeySource, "current">;

/** `controlPlane` and `watchCalls` are absent for the control plane of the settings: no resource describes it. */
export interface ConnectTarget
  extends Pick<PlaneTarget, "url" | "keys" | "onNewKey">,
    Partial<Pick<PlaneTarget, "requestsPerMinute" | "mayBeNearby" | "controlPlane" | "watchCalls" | "isInUse">> {
  /** Makes the client for the calls with the key of this source. @default the HTTP client */
  readonly client?: ((keys: CallKeys) => ControlPlane) | undefined;
}

/** The caller must close the connection. @throws Error when the URL is not valid */
export function connectControlPlane(options: ConnectOptions, target: ConnectTarget): PlaneConnection {
  const { config, clock, logger, clusterId, fence } = options;
  const { keys, controlPlane: describedBy, onNewKey, watchCalls = (call) => call() } = target;
  const { requestsPerMinute = config.requestsPerMinute, isInUse = () => true } = target;
  const name = describedBy ?? "settings";
  // A call of a former connection may end later. It must not bring back the metrics that were removed.
  const ifInUse = (report: () => void) => {
    if (isInUse()) report();
  };
  const observer: ControlPlaneObserver = {
    ...options.observer,
    throttled: (reason) => ifInUse(() => options.observer.throttledAt(name, reason)),
  };
  const unreadable = new UnreadableObjects({ clock, logger });
  const {
    serviceUrl,
    withKeys,
    close: closeClient,
  } = createClient({ ...options, observer, onListed: unreadable.note }, target);
  const throttle = throttleGuard({ clock, observer });
  const onJudged = (isAccepted: boolean) => ifInUse(() => options.observer.keyJudged(name, isAccepted));
  const counted: CallGuard = (call) => {
    ifInUse(() => options.observer.callBegan(name));
    return throttle(call);
  };
  const refusedKey = createRefusedKeyGuard({ clock, keys, onNewKey, onJudged });
  const fenced = fenceGuard(fence, writeTimeoutMs);
  const guardsFor = (own: CallKeys): CallGuards => {
    const refusedKeyGuard = refusedKey.guardFor(own);
    const guarded: CallGuard = (call) => watchCalls(() => refusedKeyGuard(() => counted(call)));
    return { read: guarded, write: (call) => fenced(() => guarded(call)) };
  };
  const { requestsPerSecond } = config;
  const budget = new RequestBudget({ clock, requestsPerMinute, requestsPerSecond, observer });
  const access: ControlPlaneAccess = {
    identity:
      describedBy === undefined ? { clusterId, serviceUrl } : { clusterId, serviceUrl, controlPlane: describedBy },
    forCaller(caller) {
      const own = askedOnce(keys);
      const reserved = guardCalls(withKeys(own), guardsFor(own));
      const controlPlane = guardCalls(reserved, budgetGuards(budget, caller));
      const keyMark = async () => hash("sha256", await own.current());
      return { controlPlane, reserve: () => budget.take({ ...caller, urgency: "Urgent" }), reserved, keyMark };
    },
    get pollsPerMinute() {
      return budget.pollsPerMinute;
    },
    makeUrgent: (projectId) => budget.makeUrgent(projectId),
    stopWaiting: () => budget.close(),
  };
  const close = async () => {
    refusedKey.stop();
    await closeClient();
  };
  const setRequestsPerMinute: PlaneConnection["setRequestsPerMinute"] = (limit) =>
    budget.setRequestsPerMinute(limit ?? config.requestsPerMinute);
  return { access, unreadableCount: () => unreadable.count(), setRequestsPerMinute, close };
}

function createClient(
  options: Omit<ConnectOptions, "observer"> & Pick<ControlPlaneClientOptions, "observer" | "onListed">,
  { url, keys, mayBeNearby, client: injected }: ConnectTarget,
) {
  const { version } = options;
  if (injected !== undefined) {
    return { serviceUrl: injected(keys).serviceUrl, withKeys: injected, close: async () => {} };
  }
  const userAgent = `endpoint-operator/${version}`;
  return createControlPlane({ ...options, baseUrl: url, keys, userAgent, writeTimeoutMs, mayBeNearby });
}
