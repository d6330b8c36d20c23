/** Finds the projects to reconcile after a change of a resource. */
import { keyText, type ResourceKey } from "../domain/resource-store.ts";

/**
 * Finds the keys of the projects to reconcile after a watch event. It remembers the projects of each resource, because
 * the event of a deleted resource carries only its key.
 */
export class ProjectKeys {
  readonly #byResource = new Map<string, readonly string[]>();
  /** For each named project: the namespace that named it first, and the number of resources that name it. */
  readonly #named = new Map<string, { readonly namespace: string; readonly resources: number }>();

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
    for (const project of now.filter((each) => !before.includes(each))) {
      const { namespace, resources } = this.#named.get(project) ?? { namespace: key.namespace, resources: 0 };
      this.#named.set(project, { namespace, resources: resources + 1 });
    }
    for (const project of before.filter((each) => !now.includes(each))) {
      this.#release(project);
    }
    return [...new Set([...before, ...now])];
  }

  /** Returns the namespace that named the project first; the empty text if no resource names the project. */
  namespaceOf(project: string): string {
    return this.#named.get(project)?.namespace ?? "";
  }

  #release(project: string): void {
    const { namespace = "", resources = 0 } = this.#named.get(project) ?? {};
    if (resources > 1) {
      this.#named.set(project, { namespace, resources: resources - 1 });
    } else {
      this.#named.delete(project);
    }
  }
}
