/** A store of resources in memory. */
import { KubernetesError, type ResourceKey, type ResourceStore } from "../../../src/domain/resource-store.ts";
import { type ComputeEndpoint, projectsOf } from "../../../src/resource/compute-endpoint.ts";
import { finalizer } from "../../../src/resource/names.ts";
import { type ComputeEndpointStatus, statusSchema } from "../../../src/resource/status-schema.ts";
import { checkConditions } from "../check-conditions.ts";

type Write = "addFinalizer" | "removeFinalizer" | "patchStatus";

/**
 * A function that runs before or after a write. If it throws before the write, the write fails. If it changes the
 * resource before the write, the write gets a conflict.
 */
export type AroundWrite = (write: Write, resource: ComputeEndpoint) => void | Promise<void>;

/**
 * API server and cache in one map. Every write needs uid and resourceVersion, and is visible at once. Each stored
 * status must fit the schema and follow the rules for conditions.
 */
export class FakeResourceStore implements ResourceStore<ComputeEndpoint, ComputeEndpointStatus> {
  readonly #stored = new Map<string, ComputeEndpoint>();
  #version = 100;
  /** The writes that took effect, by kind. */
  readonly writes: Write[] = [];
  beforeWrite: AroundWrite = () => {};
  /** Called when a write has taken effect. If it throws, the caller gets this error and no answer. */
  afterWrite: AroundWrite = () => {};

  /** Creates the object, or replaces it, as a person does. */
  put(resource: ComputeEndpoint): ComputeEndpoint {
    return this.#keep(resource);
  }

  /** Changes the present object, as a person does. */
  edit(key: ResourceKey, change: (resource: ComputeEndpoint) => Partial<ComputeEndpoint>): ComputeEndpoint {
    const current = this.#mustGet(key);
    return this.#keep({ ...current, ...change(current) });
  }

  /** Deletes the object like `kubectl delete`. Without a finalizer it is gone at once. */
  delete(key: ResourceKey): void {
    const current = this.#mustGet(key);
    if (current.finalizers.length === 0) {
      this.#stored.delete(idOf(key));
    } else {
      this.#keep({ ...current, generation: current.generation + 1, deletionTimestamp: "2026-11-21T12:00:00Z" });
    }
  }

  /** Removes the object although it has a finalizer. A person should not do this. */
  vanish(key: ResourceKey): void {
    this.#stored.delete(idOf(key));
  }

  get(key: ResourceKey): ComputeEndpoint | undefined {
    return this.#stored.get(idOf(key));
  }

  async current(key: ResourceKey): Promise<ComputeEndpoint | undefined> {
    return this.get(key);
  }

  withIndex(index: string): readonly ComputeEndpoint[] {
    return this.list().filter((resource) => projectsOf(resource).includes(index));
  }

  list(): readonly ComputeEndpoint[] {
    return [...this.#stored.values()];
  }

  async read(key: ResourceKey): Promise<ComputeEndpoint | undefined> {
    return this.get(key);
  }

  addFinalizer(resource: ComputeEndpoint): Promise<ComputeEndpoint> {
    return this.#write("addFinalizer", resource, (current) => ({ finalizers: [...current.finalizers, finalizer] }));
  }

  async removeFinalizer(resource: ComputeEndpoint): Promise<ComputeEndpoint | undefined> {
    const kept = await this.#write("removeFinalizer", resource, (current) => ({
      finalizers: current.finalizers.filter((name) => name !== finalizer),
    }));
    if (kept.deletionTimestamp === undefined || kept.finalizers.length > 0) {
      return kept;
    }
    this.#stored.delete(idOf(kept.key));
    return undefined;
  }

  patchStatus(resource: ComputeEndpoint, status: ComputeEndpointStatus): Promise<ComputeEndpoint> {
    const stored = statusSchema.parse(JSON.parse(JSON.stringify(status)));
    const breaches = checkConditions(stored, resource.generation);
    if (breaches.length > 0) {
      throw new Error(`a status breaks the rules: ${breaches.join("; ")}`);
    }
    return this.#write("patchStatus", resource, () => ({ status: stored }));
  }

  async #write(
    write: Write,
    resource: ComputeEndpoint,
    change: (current: ComputeEndpoint) => Partial<ComputeEndpoint>,
  ): Promise<ComputeEndpoint> {
    await this.beforeWrite(write, resource);
    const current = this.get(resource.key);
    if (current === undefined) {
      throw new KubernetesError("NotFound", "no such object");
    }
    if (current.uid !== resource.uid || current.resourceVersion !== resource.resourceVersion) {
      throw new KubernetesError("Conflict", "the object has changed");
    }
    this.writes.push(write);
    const kept = this.#keep({ ...current, ...change(current) });
    await this.afterWrite(write, kept);
    return kept;
  }

  #keep(resource: ComputeEndpoint): ComputeEndpoint {
    this.#version += 1;
    const kept = { ...resource, resourceVersion: `${this.#version}` };
    this.#stored.set(idOf(kept.key), kept);
    return kept;
  }

  #mustGet(key: ResourceKey): ComputeEndpoint {
    const current = this.get(key);
    if (current === undefined) {
      throw new Error(`no ${idOf(key)} in the fake store`);
    }
    return current;
  }
}

function idOf({ namespace, name }: ResourceKey): string {
  return `${namespace}/${name}`;
}
