/** Wires the kind DatabaseAccess: its watch, and its part in the reconcile of each project. */

import { AccessKind } from "../access/access-kind.ts";
import type { AccessParts } from "../access/access-observation.ts";
import { endpointIndex, indexesOf } from "../access/endpoint-reference.ts";
import type { ResourceKey } from "../domain/resource-store.ts";
import { KindWatch, type KindWatchOptions } from "../kubernetes/kind-watch.ts";
import { databaseAccessKind } from "../kubernetes/store/resource-kinds.ts";
import { createSecretStore } from "../kubernetes/store/secret-store.ts";
import { ProjectKeys } from "../reconcile/project-keys.ts";
import { planeIndex } from "../resource/control-plane-resource.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import type { WorkPriority } from "../runtime/work-queue.ts";

export interface DatabaseAccessesOptions
  extends Omit<AccessParts, "store" | "secrets">,
    Pick<KindWatchOptions, "connection" | "fence" | "namespaces" | "gaps" | "onRestored"> {
  readonly account: string;
  readonly enqueue: (project: string, priority: WorkPriority) => void;
}

export class DatabaseAccesses {
  /** Its part in the reconcile of each project. */
  readonly kind: AccessKind;
  readonly #enqueue: DatabaseAccessesOptions["enqueue"];
  readonly #projectKeys = new ProjectKeys();
  readonly watch: KindWatch<DatabaseAccess, DatabaseAccessStatus>;
  #isLeading = false;

  constructor(options: DatabaseAccessesOptions) {
    this.#enqueue = options.enqueue;
    this.watch = new KindWatch(databaseAccessKind(indexesOf), {
      ...options,
      onChange: (key, origin) => this.#changed([key], origin === "Listed" ? "Background" : "Urgent"),
    });
    const { store } = this.watch;
    this.kind = new AccessKind({ ...options, store, secrets: createSecretStore(options) });
  }

  /** Returns the resources to count. The list is empty while this process does not lead. */
  resources(): readonly DatabaseAccess[] {
    return this.#isLeading ? this.watch.store.list() : [];
  }

  endpointChanged(key: ResourceKey, priority: WorkPriority): void {
    this.#changed(this.#keysIn(endpointIndex(key)), priority);
  }

  planeChanged(planeId: string): void {
    this.#changed(this.#keysIn(planeIndex(planeId)), "Urgent");
  }

  usersOf(planeId: string): number {
    return this.#keysIn(planeIndex(planeId)).length;
  }

  lead(): void {
    this.#isLeading = true;
    this.#changed(
      this.watch.store.list().map(({ key }) => key),
      "Background",
    );
  }

  #keysIn(index: string): readonly ResourceKey[] {
    return this.watch.store.withIndex(index).map(({ key }) => key);
  }

  /** Queues the projects that the resources had before, and those that they have now. */
  #changed(keys: readonly ResourceKey[], priority: WorkPriority): void {
    for (const key of this.#isLeading ? keys : []) {
      const resource = this.watch.store.get(key);
      for (const project of this.#projectKeys.noteChange(key, resource && this.kind.projectsOf(resource))) {
        this.#enqueue(project, priority);
      }
    }
  }
}
