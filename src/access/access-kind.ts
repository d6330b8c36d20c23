import type { KindRoundStart, ProjectKind } from "../reconcile/ports.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { parseProjectKey } from "../resource/control-plane-resource.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import { type AccessEntry, type AccessParts, newEntry, type WorkedAccess } from "./access-observation.ts";
import { AccessRound } from "./access-round.ts";
import { accessKeyOf, endpointIndex, endpointMark, recordIndex } from "./endpoint-reference.ts";

export class AccessKind implements ProjectKind {
  readonly #parts: AccessParts;
  /** The memory by the uid of the resource, for each project. A resource that changes its project begins anew. */
  readonly #entries = new Map<string, ReadonlyMap<string, AccessEntry>>();

  constructor(parts: AccessParts) {
    this.#parts = parts;
  }

  begin(start: KindRoundStart): AccessRound | undefined {
    const resources = this.#resourcesOf(start);
    const former = this.#entries.get(start.key);
    const entries = new Map(resources.map(({ uid }) => [uid, former?.get(uid) ?? newEntry(start.monotonicMs)]));
    this.#entries.set(start.key, entries);
    if (resources.length === 0) this.#entries.delete(start.key);
    const worked = resources
      .filter((resource) => start.isKnown || isBeingDeleted(resource))
      .flatMap((resource): readonly WorkedAccess[] => {
        const entry = entries.get(resource.uid);
        return entry === undefined ? [] : [{ resource, entry, mark: this.#markOf(resource, start) }];
      });
    return worked.length === 0 ? undefined : new AccessRound({ ...this.#parts, ...start }, worked);
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }

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
   * grants, and its control plane. If the text changes, the resource is due.
   */
  #markOf(resource: DatabaseAccess, { key, endpoints, grantOf, identity, problem, isKnown }: KindRoundStart): string {
    const { findEndpoint } = this.#parts;
    const { mayChange, mayAdopt } = grantOf(resource.key.namespace, parseProjectKey(key).projectId);
    const ofEndpoint = endpointMark(resource, findEndpoint, endpoints);
    return JSON.stringify([ofEndpoint, mayChange, mayAdopt, isKnown, identity.serviceUrl, problem?.message]);
  }
}
