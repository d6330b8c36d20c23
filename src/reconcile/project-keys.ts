import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import { type ComputeEndpoint, projectKeysOf } from "../resource/compute-endpoint.ts";

/**
 * Finds the projects that a change of a resource concerns, by their keys. It remembers the projects of each resource, because a watch
 * event about a deleted resource carries only its key.
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

  /** The namespace that named the project first. It never changes, so that the queue finds a key where it put it. */
  namespaceOf(project: string): string {
    return this.#namespaces.get(project) ?? "";
  }
}
