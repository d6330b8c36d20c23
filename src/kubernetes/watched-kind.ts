/** Watches one kind of resources, and queues what must be reconciled after a change. */
import type { Urgency } from "../domain/control-plane.ts";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import { KindWatch, type KindWatchOptions } from "./kind-watch.ts";
import type { ResourceKind, StoredResource } from "./store/resource-kinds.ts";

export interface WatchedKindOptions<Resource> extends Omit<KindWatchOptions, "onChange"> {
  /** Returns the keys to reconcile after a change of the resource. */
  readonly keysOf: (resource: Resource) => readonly string[];
  readonly enqueue: (key: string, priority: Urgency) => void;
  /** Called for each change before its keys are queued. @default nothing */
  readonly onChange?: (key: ResourceKey, priority: Urgency) => void;
}

/** While this process does not lead, changes are not noted: a new leader reconciles every resource. */
export class WatchedKind<Resource extends StoredResource<Status>, Status extends object> extends KindWatch<
  Resource,
  Status
> {
  readonly #options: WatchedKindOptions<Resource>;
  /** The event of a deleted resource carries only its key, so the keys to reconcile are remembered. */
  readonly #keys = new Map<string, readonly string[]>();
  #isLeading = false;

  constructor(kind: ResourceKind<Resource, Status>, options: WatchedKindOptions<Resource>) {
    super(kind, { ...options, onChange: (key) => this.#changed([{ key }], "Urgent") });
    this.#options = options;
  }

  /** Returns the resources to report. There are none while this process does not lead: only one replica reports them. */
  resources(): readonly Resource[] {
    return this.#isLeading ? this.store.list() : [];
  }

  lead(): void {
    this.#isLeading = true;
    this.#changed(this.store.list(), "Background");
  }

  /** Something that all resources in an index depend on has changed. */
  changedAt(index: string, priority: Urgency): void {
    this.#changed(this.store.withIndex(index), priority);
  }

  changedIn(namespace: string | undefined): void {
    const isIn = ({ key }: Resource) => namespace === undefined || key.namespace === namespace;
    this.#changed(this.resources().filter(isIn), "Urgent");
  }

  /** Queues the keys that each resource had before, and those that it has now. */
  #changed(resources: readonly Pick<Resource, "key">[], priority: Urgency): void {
    const { keysOf, enqueue, onChange } = this.#options;
    for (const { key } of this.#isLeading ? resources : []) {
      const resource = this.store.get(key);
      onChange?.(key, priority);
      const name = keyText(key);
      const before = this.#keys.get(name) ?? [];
      const now = resource === undefined ? [] : keysOf(resource);
      resource === undefined ? this.#keys.delete(name) : this.#keys.set(name, now);
      for (const each of new Set([...before, ...now])) enqueue(each, priority);
    }
  }
}
