/** The kind DatabaseAccess in the reconcile of its project. */
import type { KindRoundStart, ProjectKind } from "../reconcile/ports.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { parseProjectKey } from "../resource/control-plane-resource.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import { AccessEntry, type AccessParts, type WorkedAccess } from "./access-observation.ts";
import { AccessRound } from "./access-round.ts";
import { accessKeyOf, endpointIndex, endpointMark, recordIndex } from "./endpoint-reference.ts";

/**
 * Begins the part of the DatabaseAccesses in each reconcile of a project, and keeps the memory of each DatabaseAccess.
 */
export class AccessKind implements ProjectKind {
  readonly #parts: AccessParts;
  readonly #entries = new Map<string, AccessEntry>();

  constructor(parts: AccessParts) {
    this.#parts = parts;
  }

  begin(start: KindRoundStart): AccessRound | undefined {
    const resources = this.#resourcesOf(start);
    this.#forgetOthers(start.key, new Set(resources.map(({ uid }) => uid)));
    const worked = resources
      .filter((resource) => start.isKnown || isBeingDeleted(resource))
      .map((resource): WorkedAccess => {
        const entry = this.#entryOf(resource, start);
        const mark = this.#markOf(resource, start);
        const hasMoved = entry.mark !== mark;
        entry.mark = mark;
        return { resource, entry, hasMoved };
      });
    return worked.length === 0 ? undefined : new AccessRound({ ...this.#parts, ...start }, worked);
  }

  /** Returns the keys of the projects to reconcile after a change of the resource. */
  projectsOf(resource: DatabaseAccess): readonly string[] {
    return [accessKeyOf(resource, this.#parts.findEndpoint)];
  }

  #resourcesOf({ key: projectKey, endpoints }: KindRoundStart): readonly DatabaseAccess[] {
    const { store, findEndpoint } = this.#parts;
    const indexes = [recordIndex(projectKey), ...endpoints.map(({ key }) => endpointIndex(key))];
    const byUid = new Map(indexes.flatMap((index) => store.withIndex(index)).map((each) => [each.uid, each]));
    return [...byUid.values()].filter((resource) => accessKeyOf(resource, findEndpoint) === projectKey);
  }

  /**
   * Returns a text that describes on what the decisions of the resource depend: its ComputeEndpoint and replicas, the
   * grants, its control plane, and for a deletion the namespaces that are not listed. If the text changes, the resource
   * is due.
   */
  #markOf(resource: DatabaseAccess, { key, endpoints, grantOf, identity, problem, isKnown }: KindRoundStart): string {
    const { findEndpoint, unlistedNamespaces } = this.#parts;
    const { mayChange, mayAdopt } = grantOf(resource.key.namespace, parseProjectKey(key).projectId);
    const ofEndpoint = endpointMark(resource, findEndpoint, endpoints);
    // A deletion may wait until another namespace is listed.
    const unlisted = isBeingDeleted(resource) ? [...unlistedNamespaces().keys()] : [];
    return JSON.stringify([ofEndpoint, mayChange, mayAdopt, isKnown, identity.serviceUrl, problem?.message, unlisted]);
  }

  #entryOf(resource: DatabaseAccess, { key, monotonicMs }: KindRoundStart): AccessEntry {
    const { uid } = resource;
    const entry = this.#entries.get(uid) ?? new AccessEntry(key, resource, monotonicMs);
    entry.projectKey = key;
    this.#entries.set(uid, entry);
    return entry;
  }

  #forgetOthers(projectKey: string, present: ReadonlySet<string>): void {
    for (const [uid, entry] of this.#entries) {
      if (entry.projectKey === projectKey && !present.has(uid)) {
        this.#entries.delete(uid);
      }
    }
  }
}
