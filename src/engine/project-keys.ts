/** Finds the projects to reconcile after a change of a resource. */
import { keyText, type ResourceKey } from "../domain/resource-store.ts";

/**
 * Finds the keys of the projects to reconcile after a watch event. It remembers the projects of each resource, because
 * the event of a deleted resource carries only its key.
 */
export class ProjectKeys {
  readonly #byResource = new Map<string, readonly string[]>();

  /**
   * Returns the keys of the projects to reconcile after a change of a resource: those that it names now and named
   * before.
   * @param projects the keys of the projects that the resource names now; `undefined`: the resource is gone
   */
  noteChange(key: ResourceKey, projects: readonly string[] | undefined): readonly string[] {
    const name = keyText(key);
    const before = this.#byResource.get(name) ?? [];
    const now = projects ?? [];
    if (projects === undefined) {
      this.#byResource.delete(name);
    } else {
      this.#byResource.set(name, now);
    }
    return [...new Set([...before, ...now])];
  }
}
