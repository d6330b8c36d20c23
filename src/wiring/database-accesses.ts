/** Wires the kind DatabaseAccess: its watch, and its part in the reconcile of each project. */

import { AccessKind } from "../access/access-kind.ts";
import type { AccessParts } from "../access/access-observation.ts";
import { endpointIndex, indexesOf, planeIndex } from "../access/endpoint-reference.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import type { ResourceKey } from "../domain/resource-store.ts";
import type { KubernetesConnection } from "../kubernetes/http/connection.ts";
import { KindPlaces } from "../kubernetes/served-kind.ts";
import { databaseAccessKind } from "../kubernetes/store/resource-kinds.ts";
import { createSecretStore } from "../kubernetes/store/secret-store.ts";
import type { KindRound, KindRoundStart, ProjectKind } from "../reconcile/ports.ts";
import { ProjectKeys } from "../reconcile/project-keys.ts";
import { namespaceOfPlane } from "../resource/control-plane-resource.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import type { WorkPriority } from "../runtime/work-queue.ts";

/** The connections, settings and callbacks from which `DatabaseAccesses` is made. */
export interface DatabaseAccessesOptions extends Omit<AccessParts, "store" | "secrets" | "unlistedNamespaces"> {
  readonly connection: KubernetesConnection;
  readonly account: string;
  readonly fence: LeaderFence;
  readonly namespaces: readonly string[];
  readonly enqueue: (project: string, priority: WorkPriority) => void;
  /** Called when a result of `isCounted` may have changed. Must not throw. */
  readonly onCounted: () => void;
}

/** The DatabaseAccesses of the cluster. They are watched while this process leads and the API server serves the kind. */
export class DatabaseAccesses implements ProjectKind {
  readonly #enqueue: DatabaseAccessesOptions["enqueue"];
  readonly #places: KindPlaces<DatabaseAccess, DatabaseAccessStatus>;
  readonly #kind: AccessKind;
  readonly #projectKeys = new ProjectKeys();

  constructor(options: DatabaseAccessesOptions) {
    const { onCounted } = options;
    this.#enqueue = options.enqueue;
    this.#places = new KindPlaces(databaseAccessKind(indexesOf), {
      ...options,
      onChange: (key, origin) => this.#changed([key], origin === "Listed" ? "Background" : "Urgent"),
      onStanding: (resources) => {
        onCounted();
        this.#changed(
          // A deletion may have waited until this namespace was listed.
          [...resources, ...this.resources().filter(({ deletionTimestamp }) => deletionTimestamp !== undefined)].map(
            ({ key }) => key,
          ),
          "Background",
        );
      },
    });
    const { store } = this.#places;
    const secrets = createSecretStore(options);
    const unlistedNamespaces = () => this.#places.unlistedNamespaces();
    this.#kind = new AccessKind({ ...options, store, secrets, unlistedNamespaces });
  }

  begin(start: KindRoundStart): KindRound | undefined {
    return this.#kind.begin(start);
  }

  /** Returns the resources of the listed namespaces. The list is empty while this process does not lead. */
  resources(): readonly DatabaseAccess[] {
    return this.#places.store.list();
  }

  /** Queues the projects of the DatabaseAccesses that name a changed ComputeEndpoint. */
  endpointChanged(key: ResourceKey, priority: WorkPriority): void {
    this.#changed(this.#keysIn(endpointIndex(key)), priority);
  }

  /**
   * Queues the projects of the resources with records in a control plane, because the spec or key of that control plane
   * has changed.
   */
  planeChanged(planeId: string): void {
    this.#changed(this.#keysIn(planeIndex(planeId)), "Urgent");
  }

  /** Returns the number of resources with records in a control plane. */
  usersOf(planeId: string): number {
    return this.#keysIn(planeIndex(planeId)).length;
  }

  /**
   * Whether `usersOf` counts every resource that may name the control plane: they are listed, or the cluster does not
   * serve the kind. Only resources of its own namespace can name a ControlPlane.
   */
  isCounted(planeId: string): boolean {
    const namespace = namespaceOfPlane(planeId);
    return namespace === undefined
      ? this.#places.isKnown()
      : ["Listed", "NotServed"].includes(this.#places.standingIn(namespace));
  }

  /**
   * Starts the watch, because this process has become the leader. The resources are reconciled as soon as they are
   * listed.
   */
  lead(): void {
    this.#places.start();
  }

  stop(): Promise<void> {
    return this.#places.stop();
  }

  #keysIn(index: string): readonly ResourceKey[] {
    return this.#places.store.withIndex(index).map(({ key }) => key);
  }

  /** Queues the projects of the given resources: those that they had before, and those that they have now. */
  #changed(keys: readonly ResourceKey[], priority: WorkPriority): void {
    for (const key of keys) {
      const resource = this.#places.store.get(key);
      for (const project of this.#projectKeys.noteChange(key, resource && this.#kind.projectsOf(resource))) {
        this.#enqueue(project, priority);
      }
    }
  }
}
