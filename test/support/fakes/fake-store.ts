/** A store of resources of one kind in memory. */
import { KubernetesError, keyText, type ResourceKey, type ResourceStore } from "../../../src/domain/resource-store.ts";
import type { KindResource, KindStatus } from "../../../src/engine/kind.ts";
import { checkConditions } from "../check-conditions.ts";

export type Write = "addFinalizer" | "removeFinalizer" | "patchStatus";

/**
 * A function that runs before or after a write. If it throws before the write, the write fails. If it changes the
 * resource before the write, the write gets a conflict.
 */
export type AroundWrite<Resource> = (write: Write, resource: Resource) => void | Promise<void>;

interface StoreOptions<Resource, Status> {
  readonly finalizer: string;
  readonly indexesOf: (resource: Resource) => readonly string[];
  /** @throws an error if the status does not fit the schema */
  readonly parseStatus: (stored: unknown) => Status;
}

/**
 * API server and cache in one map. Every write needs uid and resourceVersion, and is visible at once. Each stored
 * status must fit the schema and follow the rules for conditions.
 */
export class FakeStore<Resource extends KindResource & { readonly status: Status }, Status extends KindStatus>
  implements ResourceStore<Resource, Status>
{
  readonly #options: StoreOptions<Resource, Status>;
  readonly #stored = new Map<string, Resource>();
  #version = 100;
  /** The writes that took effect, by kind. */
  readonly writes: Write[] = [];
  beforeWrite: AroundWrite<Resource> = () => {};
  /** Called when a write has taken effect. If it throws, the caller gets this error and no answer. */
  afterWrite: AroundWrite<Resource> = () => {};

  constructor(options: StoreOptions<Resource, Status>) {
    this.#options = options;
  }

  /** Creates the object, or replaces it, as a person does. */
  put(resource: Resource): Resource {
    return this.#keep(resource);
  }

  /** Changes the present object, as a person does. */
  edit(key: ResourceKey, change: (resource: Resource) => Partial<Resource>): Resource {
    const current = this.#mustGet(key);
    return this.#keep({ ...current, ...change(current) });
  }

  /** Deletes the object like `kubectl delete`. Without a finalizer it is gone at once. */
  delete(key: ResourceKey): void {
    const current = this.#mustGet(key);
    if (current.finalizers.length === 0) {
      this.#stored.delete(keyText(key));
    } else {
      this.#keep({ ...current, generation: current.generation + 1, deletionTimestamp: "2026-11-21T12:00:00Z" });
    }
  }

  get(key: ResourceKey): Resource | undefined {
    return this.#stored.get(keyText(key));
  }

  async current(key: ResourceKey): Promise<Resource | undefined> {
    return this.get(key);
  }

  withIndex(index: string): readonly Resource[] {
    return this.list().filter((resource) => this.#options.indexesOf(resource).includes(index));
  }

  list(): readonly Resource[] {
    return [...this.#stored.values()];
  }

  async read(key: ResourceKey): Promise<Resource | undefined> {
    return this.get(key);
  }

  addFinalizer(resource: Resource): Promise<Resource> {
    const finalizers = [...resource.finalizers, this.#options.finalizer];
    return this.#write("addFinalizer", resource, { finalizers });
  }

  async removeFinalizer(resource: Resource): Promise<Resource | undefined> {
    const finalizers = resource.finalizers.filter((name) => name !== this.#options.finalizer);
    const kept = await this.#write("removeFinalizer", resource, { finalizers });
    if (kept.deletionTimestamp === undefined || kept.finalizers.length > 0) {
      return kept;
    }
    this.#stored.delete(keyText(kept.key));
    return undefined;
  }

  async patchStatus(resource: Resource, status: Status): Promise<Resource> {
    const stored = this.#options.parseStatus(JSON.parse(JSON.stringify(status)));
    const breaches = checkConditions(stored, resource.generation, resource.deletionTimestamp !== undefined);
    if (breaches.length > 0) {
      throw new Error(`a status breaks the rules: ${breaches.join("; ")}`);
    }
    return await this.#write("patchStatus", resource, { status: stored });
  }

  async #write(write: Write, resource: Resource, change: Partial<KindResource>): Promise<Resource> {
    await this.beforeWrite(write, resource);
    const current = this.get(resource.key);
    if (current === undefined) {
      throw new KubernetesError("NotFound", "no such object");
    }
    if (current.uid !== resource.uid || current.resourceVersion !== resource.resourceVersion) {
      throw new KubernetesError("Conflict", "the object has changed");
    }
    this.writes.push(write);
    const kept = this.#keep({ ...current, ...change });
    await this.afterWrite(write, kept);
    return kept;
  }

  #keep(resource: Resource): Resource {
    this.#version += 1;
    const kept = { ...resource, resourceVersion: `${this.#version}` };
    this.#stored.set(keyText(kept.key), kept);
    return kept;
  }

  #mustGet(key: ResourceKey): Resource {
    const current = this.get(key);
    if (current === undefined) {
      throw new Error(`no ${keyText(key)} in the fake store`);
    }
    return current;
  }
}
