import type { AccessKindContext } from "./access/access-context.ts";
import { AccessKind } from "./access/access-kind.ts";
import { endpointIndex, indexesOf, planeIndex } from "./access/endpoint-reference.ts";
import type { Clock } from "./domain/clock.ts";
import type { LeaderFence } from "./domain/leader-fence.ts";
import type { ResourceKey } from "./domain/resource-store.ts";
import type { KubernetesConnection } from "./kubernetes/http/connection.ts";
import { discoverKind } from "./kubernetes/http/kind-discovery.ts";
import { createKindWatch } from "./kubernetes/resource-watch.ts";
import { databaseAccessKind } from "./kubernetes/store/database-access-kind.ts";
import { createSecretStore } from "./kubernetes/store/secret-store.ts";
import type { KindRound, ProjectKind } from "./reconcile/project-kind.ts";
import type { DatabaseAccess } from "./resource/database-access.ts";
import { databaseAccessNames } from "./resource/names.ts";

/** What the parts of DatabaseAccess stand on. */
export interface AccessPartsOptions extends Omit<AccessKindContext, "store" | "secrets"> {
  readonly connection: KubernetesConnection;
  readonly fence: LeaderFence;
  /** The watched namespaces. Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** Adds a project to the work queue, by its key. */
  readonly enqueue: (project: string, priority: "Urgent" | "Background") => void;
  /** Called when `isCounted` has become true. Must not throw. */
  readonly onCounted: () => void;
}

/**
 * The parts of DatabaseAccess: a watch that starts when the API server serves the kind, and the kind for the reconcile.
 */
export interface AccessParts {
  readonly kind: ProjectKind;
  /** Returns the resources from the cache. The list is empty while this process does not lead. */
  resources(): readonly DatabaseAccess[];
  /** A ComputeEndpoint changed, so the DatabaseAccesses that name it are reconciled. */
  endpointChanged(key: ResourceKey, priority: "Urgent" | "Background"): void;
  /** A control plane must be used in another way, so the resources with records there are reconciled. */
  planeChanged(planeId: string): void;
  /** Returns the number of resources with records at a control plane. */
  usersOf(planeId: string): number;
  /** Whether `usersOf` counts every resource: they are listed, or the cluster does not serve the kind. */
  isCounted(): boolean;
  start(): void;
  /** This process has become the leader. It acts as soon as it has listed the resources. */
  lead(): void;
  stop(): Promise<void>;
}

/** The round of a project before the resources are listed: it has no resources. */
const emptyRound: KindRound = {
  size: 0,
  settleLocally: async () => {},
  wantsLook: () => false,
  isWaiting: () => false,
  look: async () => {},
  wishes: () => [],
  change: async () => ({ kind: "Outdated" }),
  settle: async () => {},
  fail: async () => {},
  nextDueMs: () => Number.POSITIVE_INFINITY,
};

/** After a failed list, the operator lists again after this many milliseconds. */
const listAgainMs = 5_000;

/** Wires the parts of DatabaseAccess. */
export function assembleAccess(options: AccessPartsOptions): AccessParts {
  const { connection, clock, logger, fence, enqueue } = options;
  const state = { isServed: false, isAbsent: false, isLeading: false, isReady: false };
  const watch = createKindWatch(databaseAccessKind(indexesOf), {
    ...{ connection, clock, logger, fence, namespaces: options.namespaces, random: options.random },
    onChange(key, origin) {
      if (state.isReady) {
        changed(key, origin === "Listed" ? "Background" : "Urgent");
      }
    },
  });
  const kind = new AccessKind({ ...options, store: watch.store, secrets: createSecretStore({ connection, fence }) });
  const projects = new Map<string, readonly string[]>();
  const changed = ({ namespace, name }: ResourceKey, priority: "Urgent" | "Background") => {
    const resource = watch.store.get({ namespace, name });
    const now = resource === undefined ? [] : kind.projectsOf(resource);
    const before = projects.get(`${namespace}/${name}`) ?? [];
    if (resource === undefined) {
      projects.delete(`${namespace}/${name}`);
    } else {
      projects.set(`${namespace}/${name}`, now);
    }
    for (const project of new Set([...before, ...now])) {
      enqueue(project, priority);
    }
  };
  const becomeReady = async () => {
    try {
      // A new leader acts from what the API server stores now, not from what its watch saw before.
      await watch.listConsistently();
      state.isReady = true;
      options.onCounted();
      for (const { key } of watch.store.list()) {
        changed(key, "Background");
      }
    } catch (error) {
      logger.warn({ err: error }, "cannot list the DatabaseAccesses; the operator tries again");
      again(clock, becomeReady);
    }
  };
  let discovery: ReturnType<typeof discoverKind> | undefined;
  return {
    kind: { begin: (start) => (state.isReady ? kind.begin(start) : emptyRound) },
    resources: () => (state.isReady ? watch.store.list() : []),
    endpointChanged(key, priority) {
      for (const resource of state.isReady ? watch.store.inProject(endpointIndex(key)) : []) {
        changed(resource.key, priority);
      }
    },
    planeChanged(planeId) {
      for (const resource of state.isReady ? watch.store.inProject(planeIndex(planeId)) : []) {
        changed(resource.key, "Urgent");
      }
    },
    usersOf: (planeId) => watch.store.inProject(planeIndex(planeId)).length,
    isCounted: () => state.isReady || state.isAbsent,
    start() {
      const { plural } = databaseAccessNames;
      const onServed = () => {
        state.isServed = true;
        state.isAbsent = false;
        watch.start();
        if (state.isLeading) {
          void becomeReady();
        }
      };
      const onAbsent = () => {
        state.isAbsent = true;
        options.onCounted();
      };
      discovery = discoverKind({ connection, clock, plural, onServed, onAbsent });
    },
    lead() {
      state.isLeading = true;
      if (state.isServed) {
        void becomeReady();
      }
    },
    async stop() {
      discovery?.stop();
      await watch.stop();
    },
  };
}

function again(clock: Clock, work: () => Promise<void>): void {
  clock.after(listAgainMs, () => void work());
}
