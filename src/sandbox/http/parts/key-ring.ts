/** The API keys of the sandbox, and the requests that each key may send. */
import { hash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import type { KeyAccess, KeyRecord } from "../../engine/records.ts";
import { controlLimit, requireRoom } from "../../engine/settings.ts";
import type { Store } from "../../engine/store.ts";
import type { RouteRights } from "./route-config.ts";

export interface NewKey {
  readonly record: KeyRecord;
  readonly key: string;
}

export interface KeyScope {
  readonly access?: KeyAccess | undefined;
  readonly projectId?: string | undefined;
}

export interface KeyUse {
  readonly atMs: number;
  readonly address: string;
}

/** The store has only hashes of keys. The last use of a key is in memory only. */
export class KeyRing {
  readonly #store: Store;
  readonly #nowMs: () => number;
  readonly #uses = new Map<string, KeyUse>();

  constructor(store: Store, nowMs: () => number = Date.now) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  admit(name: string, key: string, { access = "write", projectId }: KeyScope = {}): KeyRecord {
    return this.#put({ name, access, projectId, createdMs: this.#nowMs(), hash: hashOf(key) });
  }

  /** Stores a key again after all records were replaced, unless the new records have it. */
  readmit(before: KeyRecord): KeyRecord {
    return this.list().find(({ hash }) => hash === before.hash) ?? this.#put(before);
  }

  create(name: string, scope: KeyScope = {}): NewKey {
    requireRoom(this.list().length, controlLimit, "KEYS");
    const key = `sbx_${randomBytes(24).toString("hex")}`;
    return { record: this.admit(name, key, scope), key };
  }

  list(): readonly KeyRecord[] {
    return this.#store.keys.list();
  }

  revoke(id: string): boolean {
    const exists = this.#store.keys.get(id) !== undefined;
    this.#store.transaction(() => this.#store.keys.remove(id));
    this.#uses.delete(id);
    return exists;
  }

  /** `undefined`: the header has no known key. */
  authenticate(authorization: string | undefined, address = ""): KeyRecord | undefined {
    const presented = Buffer.from(hashOf(/^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1] ?? ""));
    let found: KeyRecord | undefined;
    // Every key is compared in constant time, so the duration of a request reveals nothing about the keys.
    for (const record of this.#store.keys.list()) {
      if (timingSafeEqual(Buffer.from(record.hash), presented)) found = record;
    }
    if (found !== undefined) this.#uses.set(found.id, { atMs: this.#nowMs(), address });
    return found;
  }

  #put(given: Omit<KeyRecord, "id" | "sequence">): KeyRecord {
    return this.#store.transaction(() => {
      const sequence = this.#store.counters.get("keys") + 1;
      this.#store.counters.set("keys", sequence);
      const record = { ...given, id: randomUUID(), sequence };
      this.#store.keys.put(record);
      return record;
    });
  }

  /** `undefined`: the key was not used since this process began. */
  lastUse(id: string): KeyUse | undefined {
    return this.#uses.get(id);
  }
}

function hashOf(key: string): string {
  return hash("sha256", key, "hex");
}

export interface CallToJudge {
  readonly method: string;
  readonly route: RouteRights;
  readonly projectId: string | undefined;
}

export function permissionProblem(key: KeyRecord, { method, route, projectId }: CallToJudge): string | undefined {
  if (key.access === "read") {
    if (method !== "GET" && method !== "HEAD") return "this key may only read";
    if (route.revealsSecret === true) return "this key may not read secrets";
  }
  if (key.projectId === undefined) return undefined;
  if (route.isAccountWide === true) return "this key is for one project only";
  return projectId === undefined || projectId === key.projectId ? undefined : "this key is for another project";
}

declare module "fastify" {
  interface FastifyRequest {
    /** `undefined`: the request has no known key, or its path is not under `/api/v2`. */
    apiKey: KeyRecord | undefined;
  }
}
