/** The kind DatabaseAccess in the reconcile of its project. */

import type { KindRound, KindRoundStart, ProjectKind } from "../reconcile/project-kind.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { parseProjectKey } from "../resource/control-plane-resource.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessKindContext } from "./access-context.ts";
import { type AccessEntry, newAccessEntry, type WorkedAccess } from "./access-observation.ts";
import { AccessRound } from "./access-round.ts";
import { accessKeyOf, endpointIndex, endpointMark, recordIndex } from "./endpoint-reference.ts";

/** Begins the DatabaseAccess part of each reconcile, and keeps its memory. */
export class AccessKind implements ProjectKind {
  readonly #context: AccessKindContext;
  /** The memory of each resource, by uid. */
  readonly #entries = new Map<string, AccessEntry>();

  constructor(context: AccessKindContext) {
    this.#context = context;
  }

  begin(start: KindRoundStart): KindRound {
    const { problem, identity, grantOf, planeId, isSettled } = start;
    const { projectId } = parseProjectKey(start.key);
    const resources = this.#resourcesOf(start);
    this.#forgetOthers(start.key, new Set(resources.map(({ uid }) => uid)));
    const find = this.#find;
    const unlisted = [...this.#context.unlistedNamespaces().keys()].join();
    const decidable = resources.filter(({ deletionTimestamp }) => isSettled || deletionTimestamp !== undefined);
    const worked = decidable.map((resource): WorkedAccess => {
      const entry = this.#entryOf(resource, start);
      const { mayChange, mayAdopt } = start.grantOf(resource.key.namespace, projectId);
      const { serviceUrl } = identity;
      const ofPlane = `${mayChange} ${mayAdopt} ${isSettled} ${serviceUrl} ${problem?.message ?? ""}`;
      // A deletion may wait until another namespace is listed.
      const ofOthers = !isBeingDeleted(resource) ? "" : unlisted;
      const mark = `${endpointMark(resource, find, start.endpoints)} ${ofPlane} ${ofOthers}`;
      const hasMoved = entry.endpointMark !== mark;
      entry.endpointMark = mark;
      return { resource, entry, hasMoved };
    });
    const context = { ...this.#context, identity, grantOf, settings: this.#context.settingsOf(planeId) };
    return new AccessRound(context, start, worked);
  }

  /** Returns the keys of the projects to reconcile after a change of the resource. */
  projectsOf(resource: DatabaseAccess): readonly string[] {
    return [accessKeyOf(resource, this.#find)];
  }

  readonly #find = (key: Parameters<AccessKindContext["endpoints"]["get"]>[0]) => this.#context.endpoints.get(key);

  #resourcesOf({ key: project, endpoints }: KindRoundStart): readonly DatabaseAccess[] {
    const { store } = this.#context;
    const indexes = [recordIndex(project), ...endpoints.map(({ key }) => endpointIndex(key))];
    const found = indexes.flatMap((index) => store.inProject(index));
    const byUid = new Map(found.map((resource) => [resource.uid, resource]));
    return [...byUid.values()].filter((resource) => accessKeyOf(resource, this.#find) === project);
  }

  #entryOf({ uid }: DatabaseAccess, { key, monotonicMs }: KindRoundStart): AccessEntry {
    const entry = this.#entries.get(uid) ?? newAccessEntry(key, monotonicMs);
    entry.project = key;
    this.#entries.set(uid, entry);
    return entry;
  }

  #forgetOthers(project: string, present: ReadonlySet<string>): void {
    for (const [uid, entry] of this.#entries) {
      if (entry.project === project && !present.has(uid)) {
        this.#entries.delete(uid);
      }
    }
  }
}
