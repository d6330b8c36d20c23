/** Wires the kind DatabaseAccess: its watch, and its part in the reconcile of each project. */
import type { AccessKindContext } from "../access/access-context.ts";
import { AccessKind } from "../access/access-kind.ts";
import { endpointIndex, indexesOf, planeIndex } from "../access/endpoint-reference.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import type { KubernetesConnection } from "../kubernetes/http/connection.ts";
import { ServedKind } from "../kubernetes/served-kind.ts";
import { databaseAccessKind } from "../kubernetes/store/resource-kinds.ts";
import { createSecretStore } from "../kubernetes/store/secret-store.ts";
import type { KindRound, KindRoundStart, ProjectKind } from "../reconcile/project-kind.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import type { WorkPriority } from "../runtime/work-queue.ts";

/** The options of the parts of DatabaseAccess. */
export interface DatabaseAccessesOptions extends Omit<AccessKindContext, "store" | "secrets" | "isListed"> {
  readonly connection: KubernetesConnection;
  readonly fence: LeaderFence;
  /** The watched namespaces. Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** Adds a project to the work queue, by its key. */
  readonly enqueue: (project: string, priority: WorkPriority) => void;
  /** Called when `isCounted` may have changed. Must not throw. */
  readonly onCounted: () => void;
}

/** The DatabaseAccesses of the cluster. They are watched while this process leads and the API server serves the kind. */
export class DatabaseAccesses implements ProjectKind {
  readonly #enqueue: DatabaseAccessesOptions["enqueue"];
  readonly #served: ServedKind<DatabaseAccess, DatabaseAccessStatus>;
  readonly #kind: AccessKind;
  /** The projects of each resource at its last change, by the text of its key. */
  readonly #projects = new Map<string, readonly string[]>();

  constructor(options: DatabaseAccessesOptions) {
    const { connection, fence, onCounted } = options;
    this.#enqueue = options.enqueue;
    this.#served = new ServedKind(databaseAccessKind(indexesOf), {
      ...options,
      onChange: (key, origin) => this.#changed([key], origin === "Listed" ? "Background" : "Urgent"),
      onStanding: () => {
        onCounted();
        this.#changed(
          this.resources().map(({ key }) => key),
          "Background",
        );
      },
    });
    const { store } = this.#served;
    const secrets = createSecretStore({ connection, fence });
    this.#kind = new AccessKind({ ...options, store, secrets, isListed: () => this.#isListed });
  }

  begin(start: KindRoundStart): KindRound {
    return this.#kind.begin(start);
  }

  /** Returns the resources from the cache. The list is empty while this process does not lead. */
  resources(): readonly DatabaseAccess[] {
    return this.#isListed ? this.#served.store.list() : [];
  }

  /** A ComputeEndpoint changed, so the DatabaseAccesses that name it are reconciled. */
  endpointChanged(key: ResourceKey, priority: WorkPriority): void {
    this.#changed(this.#keysIn(endpointIndex(key)), priority);
  }

  /** A control plane must be used in another way now, so the resources with records there are reconciled. */
  planeChanged(planeId: string): void {
    this.#changed(this.#keysIn(planeIndex(planeId)), "Urgent");
  }

  /** Returns the number of resources with records in a control plane. */
  usersOf(planeId: string): number {
    return this.#keysIn(planeIndex(planeId)).length;
  }

  /** Whether `usersOf` counts every resource: they are listed, or the cluster does not serve the kind. */
  isCounted(): boolean {
    return this.#isListed || this.#served.standing === "NotServed";
  }

  /** This process has become the leader. It acts as soon as it has listed the resources. */
  lead(): void {
    this.#served.start();
  }

  stop(): Promise<void> {
    return this.#served.stop();
  }

  get #isListed(): boolean {
    return this.#served.standing === "Listed";
  }

  #keysIn(index: string): readonly ResourceKey[] {
    return this.#served.store.inProject(index).map(({ key }) => key);
  }

  /** Reconciles the projects of these resources: those that they had before, and those that they have now. */
  #changed(keys: readonly ResourceKey[], priority: WorkPriority): void {
    for (const key of this.#isListed ? keys : []) {
      const resource = this.#served.store.get(key);
      const now = resource === undefined ? [] : this.#kind.projectsOf(resource);
      const before = this.#projects.get(keyText(key)) ?? [];
      if (resource === undefined) {
        this.#projects.delete(keyText(key));
      } else {
        this.#projects.set(keyText(key), now);
      }
      for (const project of new Set([...before, ...now])) {
        this.#enqueue(project, priority);
      }
    }
  }
}
