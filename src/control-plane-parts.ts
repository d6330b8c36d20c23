import type { Config } from "./config.ts";
import { createControlPlane } from "./control-plane/create-control-plane.ts";
import { createCredentialGate } from "./control-plane/credential-gate.ts";
import { type CallGuard, guardCalls, throttleGuard, withLeaderFence } from "./control-plane/guard-calls.ts";
import type { KeySource } from "./control-plane/key-source.ts";
import { createRequestBudget, withRequestBudget } from "./control-plane/request-budget.ts";
import { withUnreadableReport } from "./control-plane/unreadable-objects.ts";
import { withCallSpans, withRequestAttributes } from "./control-plane/with-call-spans.ts";
import { type BranchObjects, guardBranchObjects } from "./domain/branch-objects.ts";
import type { Clock } from "./domain/clock.ts";
import type { ControlPlane } from "./domain/control-plane.ts";
import type { ControlPlaneObserver, CredentialObserver } from "./domain/control-plane-observer.ts";
import { type LeaderFence, LeaderFenceError } from "./domain/leader-fence.ts";
import type { Logger } from "./domain/logger.ts";
import type { RequestBudget } from "./domain/request-budget.ts";
import type { Tracer } from "./domain/tracer.ts";
import type { ControlPlaneAccess, ObjectsAccess } from "./reconcile/control-plane-access.ts";

/** The time limit of one write, to the control plane or to Kubernetes. The lease must last longer than that. */
export const writeTimeoutMs = 8_000;

/** What the connections to all control planes have in common. */
export interface ConnectOptions {
  readonly config: Pick<Config, "requestsPerSecond">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly clusterId: string;
  readonly version: string;
  readonly tracer?: Tracer | undefined;
  readonly observer: ControlPlaneObserver & CredentialObserver;
  readonly fence: LeaderFence;
}

/** The control plane to connect to. */
export interface ConnectTarget {
  /** The base URL, which ends in `/v2`. */
  readonly url: string;
  readonly keys: KeySource;
  readonly requestsPerMinute: number;
  /** The resource that describes the control plane; `undefined`: the settings describe it. */
  readonly controlPlane?: string | undefined;
  /** Called when the source has another key after a refusal. Must not throw. */
  readonly onNewKey: () => void;
  /** The client; tests pass one in. @default the HTTP client */
  readonly client?: (ControlPlane & { readonly objects?: BranchObjects }) | undefined;
  /** Runs around every call and sees its result. @default nothing */
  readonly watchCalls?: CallGuard | undefined;
  /** Whether the result of a call still says something about the key in use. @default it does */
  readonly isInUse?: (() => boolean) | undefined;
}

/** A connected control plane. The caller must close it. */
export interface ConnectedPlane {
  readonly access: ControlPlaneAccess;
  readonly unreadableCount: () => number;
  close(): Promise<void>;
}

/**
 * Connects to a control plane: makes the client, and what all its callers share.
 * @throws Error when the URL is not valid
 */
export function connectControlPlane(options: ConnectOptions, target: ConnectTarget): ConnectedPlane {
  const { config, clock, logger, clusterId, tracer, observer, fence } = options;
  const { keys, requestsPerMinute, controlPlane: describedBy, onNewKey, watchCalls = (call) => call() } = target;
  const { client, close: closeClient } = createClient(options, target);
  const { controlPlane: reporting, unreadableCount } = withUnreadableReport(client, { clock, logger });
  const calls = tracer === undefined ? reporting : withCallSpans(reporting, tracer);
  const throttle = throttleGuard({ clock, observer });
  const onJudged = (isAccepted: boolean) => {
    if (target.isInUse?.() ?? true) observer.keyJudged(describedBy ?? "settings", isAccepted);
  };
  const credentials = createCredentialGate({ clock, keys, onNewKey, onJudged });
  const gated: CallGuard = (call) => watchCalls(() => credentials.guard(() => throttle(call)));
  const controlPlane = withLeaderFence(guardCalls(calls, gated), fence, writeTimeoutMs);
  const { requestsPerSecond } = config;
  const budget = createRequestBudget({ clock, requestsPerMinute, requestsPerSecond, observer });
  const { serviceUrl } = client;
  const access: ControlPlaneAccess = {
    identity:
      describedBy === undefined ? { clusterId, serviceUrl } : { clusterId, serviceUrl, controlPlane: describedBy },
    forCaller: (caller) => withRequestBudget(controlPlane, budget, caller),
    reserve: (caller) => budget.take(caller),
    reserved: controlPlane,
    pollsPerMinute: budget.pollsPerMinute,
    objects: client.objects && objectsAccess(client.objects, { gated, fence, budget }),
  };
  const close = async () => {
    credentials.stop();
    await closeClient();
  };
  return { access, unreadableCount, close };
}

interface ObjectGuards {
  readonly gated: CallGuard;
  readonly fence: LeaderFence;
  readonly budget: RequestBudget;
}

/** Roles and databases behind the same gates and the same budget as the rest of the control plane. */
function objectsAccess(inner: BranchObjects, { gated, fence, budget }: ObjectGuards): ObjectsAccess {
  const write: CallGuard = (call) =>
    fence.mayStartEffect(writeTimeoutMs) ? gated(call) : Promise.reject(new LeaderFenceError());
  const reserved = guardBranchObjects(inner, { read: gated, write });
  return {
    reserved,
    forCaller(caller) {
      const inBudget: CallGuard = async (call) => {
        await budget.take(caller);
        return await call();
      };
      return guardBranchObjects(reserved, { read: inBudget, write: inBudget });
    },
  };
}

/** The control plane that was injected, else the HTTP client. */
function createClient(options: ConnectOptions, { url, keys, client: injected }: ConnectTarget) {
  const { clock, version, tracer, observer, fence } = options;
  if (injected !== undefined) {
    return { client: injected, close: async () => {} };
  }
  const client = createControlPlane({
    baseUrl: url,
    keys,
    clock,
    observer: tracer === undefined ? observer : withRequestAttributes(observer, tracer),
    userAgent: `endpoint-operator/${version}`,
    writeTimeoutMs,
    fence,
  });
  return { client, close: () => client.close() };
}
