/** A watch behind the fault proxy, compared with the API server. */
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { KubeConfig } from "@kubernetes/client-node";
import type { Clock } from "../../../src/domain/clock.ts";
import type { StoredIdentity } from "../../../src/domain/resource-store.ts";
import { createConnection, type KubernetesConnection } from "../../../src/kubernetes/http/connection.ts";
import { loadCredentialSource } from "../../../src/kubernetes/http/credentials.ts";
import { KindWatch } from "../../../src/kubernetes/kind-watch.ts";
import { computeEndpointKind } from "../../../src/kubernetes/store/resource-kinds.ts";
import type { ReflectorTiming } from "../../../src/kubernetes/watch/reflector.ts";
import type { ComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../../../src/resource/status-schema.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import { serviceAccountAccess, sharedApiServer } from "../api-server.ts";
import { createFastClock } from "../fast-clock.ts";
import { quietLogger } from "../quiet-logger.ts";
import { waitUntil } from "../wait-until.ts";
import type { FaultProxy } from "./fault-proxy.ts";
import { startProxiedApiServer } from "./proxied-api-server.ts";
import { ResourceEditor } from "./resource-editor.ts";

/** A real API server, with the custom resource installed. */
export interface SceneServer {
  readonly url: string;
  readonly caFile: string;
  /** The token of the client that watches. */
  readonly token: string;
  /** The kubeconfig of the client that edits. */
  readonly adminKubeconfigFile: string;
}

/** The differences of a scene to the usual one. */
export interface SceneOptions {
  readonly server: SceneServer;
  readonly onTestFinished: (cleanUp: () => Promise<void>) => void;
  /** The factor by which production times are shorter here. The API server's own times stay the same. @default 10 */
  readonly haste?: number;
  readonly timing?: Partial<ReflectorTiming>;
}

const sceneTiming: Partial<ReflectorTiming> = {
  pageLimit: 2,
  inactivityMs: 20_000,
  // Longer than any test. So the watch itself must recover what it has lost, because no planned list does it.
  relistMs: 24 * 3_600_000,
};

/**
 * The operator's watch on one namespace through a fault proxy, and another client that changes resources at the API
 * server.
 */
export interface WatchScene {
  readonly proxy: FaultProxy;
  readonly editor: ResourceEditor;
  /** The watch, which is not started yet. Its change handler throws every second time. */
  readonly watch: KindWatch<ComputeEndpoint, ComputeEndpointStatus>;
  /** Waits for the first list and an open watch. */
  untilWatching(): Promise<void>;
  /** Waits until the cache equals a fresh list, and each key was reported after its last change. */
  untilEqual(): Promise<void>;
  /**
   * Waits like `untilEqual`, makes one more change, and waits again. Only a watch that still works delivers that
   * change.
   */
  untilCaughtUp(): Promise<void>;
}

/** Opens a scene, which ends with the test. */
export async function openWatchScene(options: SceneOptions): Promise<WatchScene> {
  const { server, onTestFinished, haste = 10 } = options;
  const clock = createFastClock(haste);
  const { proxy, kubeconfigFile } = await startProxiedApiServer({ ...server, clock });
  onTestFinished(() => proxy.stop());
  const admin = connect(server.adminKubeconfigFile, systemClock);
  onTestFinished(() => admin.close());
  const namespace = `watch-${randomBytes(4).toString("hex")}`;
  await createNamespace(admin, namespace);
  const connection = connect(kubeconfigFile, clock);
  // The content of the cache at the last call of its handler, by name.
  const reported: Record<string, string> = {};
  const cached = () =>
    Object.fromEntries(watch.store.list().map((resource) => [resource.key.name, describe(resource)]));
  let tellings = 0;
  const watch: KindWatch<ComputeEndpoint, ComputeEndpointStatus> = new KindWatch(computeEndpointKind, {
    ...{ connection, namespaces: [namespace], fence: { mayStartEffect: () => true }, clock },
    onChange(key) {
      reported[key.name] = describe(watch.store.get(key));
      tellings += 1;
      if (tellings % 2 === 0) throw new Error("a bug in a handler");
    },
    logger: quietLogger,
    timing: { ...sceneTiming, ...options.timing },
  });
  onTestFinished(async () => {
    await watch.stop();
    await connection.close();
  });
  const editor = new ResourceEditor(admin, namespace);
  const untilEqual = async () => {
    let wanted: object = {};
    const isEqual = async () => {
      const fresh = await editor.list();
      const missing = Object.fromEntries(Object.keys(reported).map((name) => [name, gone]));
      wanted = { cache: fresh, reported: { ...missing, ...fresh } };
      return isDeepStrictEqual(wanted, { cache: cached(), reported }) ? true : undefined;
    };
    const lastSeen = () => ({ wanted, cache: cached(), reported, stats: watch.stats(), proxy: proxy.stats() });
    await waitUntil(isEqual, { what: "the cache equals a fresh list, and every change was reported", lastSeen });
  };
  return {
    ...{ proxy, editor, watch, untilEqual },
    untilWatching: async () => {
      const isWatching = () => (watch.stats().isWatching ? true : undefined);
      await waitUntil(isWatching, { what: "the watch is open", lastSeen: () => watch.stats() });
    },
    untilCaughtUp: async () => {
      await untilEqual();
      await editor.create(`last-${tellings}`);
      await untilEqual();
    },
  };
}

/** Returns the shared API server, with the rights of the shipped role only. */
export async function sharedSceneServer(): Promise<SceneServer> {
  const { url, caFile, kubeconfigFile } = sharedApiServer();
  const { token } = await serviceAccountAccess("endpoint-operator-system", "endpoint-operator");
  return { url, caFile, token, adminKubeconfigFile: kubeconfigFile };
}

async function createNamespace(admin: KubernetesConnection, name: string): Promise<void> {
  const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
  const path = "/api/v1/namespaces";
  await admin.request({ what: `create namespace ${name}`, method: "POST", path, body, timeoutMs: 60_000 });
}

function connect(kubeconfigFile: string, clock: Clock): KubernetesConnection {
  const load = () => {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfigFile);
    return config;
  };
  return createConnection({
    credentials: loadCredentialSource(load),
    clock,
    userAgent: "endpoint-operator-fault-test",
  });
}

const gone = "gone";

function describe(resource: StoredIdentity | undefined): string {
  return resource === undefined ? gone : `${resource.uid} ${resource.resourceVersion}`;
}
