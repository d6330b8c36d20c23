import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import { type ComputeEndpoint, projectKeysOf } from "../resource/compute-endpoint.ts";

/**
 * Finds the keys of the projects to reconcile after a watch event. It remembers the projects of each resource, because
 * the event of a deleted resource carries only its key.
 */
export class ProjectKeys {
  readonly #byResource = new Map<string, readonly string[]>();
  readonly #namespaces = new Map<string, string>();

  /**
   * Returns the projects to reconcile after a change of a resource. @param resource its present form; `undefined`: it
   * is gone
   */
  noteChange(key: ResourceKey, resource: ComputeEndpoint | undefined): readonly string[] {
    const name = keyText(key);
    const before = this.#byResource.get(name) ?? [];
    const now = resource === undefined ? [] : projectKeysOf(resource);
    if (resource === undefined) {
      this.#byResource.delete(name);
    } else {
      this.#byResource.set(name, now);
    }
    for (const project of now) {
      this.#namespaces.set(project, this.#namespaces.get(project) ?? key.namespace);
    }
    return [...new Set([...before, ...now])];
  }

  /**
   * Returns the namespace that named the project first. It never changes, so that the queue always finds the project's
   * key in the same group.
   */
  namespaceOf(project: string): string {
    return this.#namespaces.get(project) ?? "";
  }
}
