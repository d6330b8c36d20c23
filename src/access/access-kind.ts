import type { KindRound, KindRoundStart, ProjectKind } from "../reconcile/project-kind.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessContext } from "./access-context.ts";
import { type AccessEntry, newAccessEntry, type WorkedAccess } from "./access-memory.ts";
import { AccessRound } from "./access-round.ts";
import { accessProjectOf, endpointIndex, endpointMark, recordIndex } from "./endpoint-reference.ts";

/** DatabaseAccess as a further kind of resource in the reconcile of a project. */
export class AccessKind implements ProjectKind {
  readonly #context: AccessContext;
  /** What this process remembers of each resource, by uid. */
  readonly #entries = new Map<string, AccessEntry>();

  constructor(context: AccessContext) {
    this.#context = context;
  }

  begin(start: KindRoundStart): KindRound {
    const resources = this.#resourcesOf(start);
    this.#forgetOthers(start.projectId, new Set(resources.map(({ uid }) => uid)));
    const find = this.#find;
    const worked = resources.map((resource): WorkedAccess => {
      const entry = this.#entryOf(resource, start);
      const { mayChange, mayAdopt } = this.#context.grantOf(resource.key.namespace, start.projectId);
      const mark = `${endpointMark(resource, find, start.endpoints)} ${mayChange} ${mayAdopt}`;
      const hasMoved = entry.endpointMark !== mark;
      entry.endpointMark = mark;
      return { resource, entry, hasMoved };
    });
    return new AccessRound(this.#context, start, worked);
  }

  /** Returns the projects to reconcile after a change of a resource. */
  projectsOf(resource: DatabaseAccess): readonly string[] {
    return [accessProjectOf(resource, this.#find)];
  }

  readonly #find = (key: Parameters<AccessContext["endpoints"]["get"]>[0]) => this.#context.endpoints.get(key);

  #resourcesOf({ projectId, endpoints }: KindRoundStart): readonly DatabaseAccess[] {
    const indexes = [recordIndex(projectId), ...endpoints.map(({ key }) => endpointIndex(key))];
    const found = indexes.flatMap((index) => this.#context.store.inProject(index));
    const byUid = new Map(found.map((resource) => [resource.uid, resource]));
    return [...byUid.values()].filter((resource) => accessProjectOf(resource, this.#find) === projectId);
  }

  #entryOf({ uid }: DatabaseAccess, { projectId, monotonicMs }: KindRoundStart): AccessEntry {
    const entry = this.#entries.get(uid) ?? newAccessEntry(projectId, monotonicMs);
    entry.projectId = projectId;
    this.#entries.set(uid, entry);
    return entry;
  }

  #forgetOthers(projectId: string, present: ReadonlySet<string>): void {
    for (const [uid, entry] of this.#entries) {
      if (entry.projectId === projectId && !present.has(uid)) {
        this.#entries.delete(uid);
      }
    }
  }
}
