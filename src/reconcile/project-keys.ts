import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import { type ComputeEndpoint, projectsOf } from "../resource/compute-endpoint.ts";

/**
 * Finds the projects to reconcile after a watch event. It remembers the projects of each resource, because the event of
 * a deleted resource carries only its key.
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
    const now = resource === undefined ? [] : projectsOf(resource);
    if (resource === undefined) {
      this.#byResource.delete(name);
    } else {
      this.#byResource.set(name, now);
    }
    for (const projectId of now) {
      this.#namespaces.set(projectId, this.#namespaces.get(projectId) ?? key.namespace);
    }
    return [...new Set([...before, ...now])];
  }

  /**
   * Returns the namespace that named the project first. It never changes, so that the queue always finds the project's
   * key in the same group.
   */
  namespaceOf(projectId: string): string {
    return this.#namespaces.get(projectId) ?? "";
  }
}
