import { hash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import type { KeyAccess, KeyRecord } from "../../engine/records.ts";
import { controlLimit, requireRoom } from "../../engine/settings.ts";
import type { Store } from "../../engine/store.ts";

/** A new key. Only this answer can show it. */
export interface NewKey {
  readonly record: KeyRecord;
  readonly key: string;
}

/** What a key is good for. */
export interface KeyScope {
  /** @default write */
  readonly access?: KeyAccess | undefined;
  /** @default every project */
  readonly projectId?: string | undefined;
}

/** The last time that a key was used. */
export interface KeyUse {
  /** Epoch milliseconds of the sandbox's clock. */
  readonly atMs: number;
  /** IP address of the client. */
  readonly address: string;
}

/** The API keys. Stored hashed, compared in constant time. When they were last used is not stored. */
export class KeyRing {
  readonly #store: Store;
  readonly #nowMs: () => number;
  readonly #uses = new Map<string, KeyUse>();

  /** @param nowMs epoch milliseconds. @default the machine's clock */
  constructor(store: Store, nowMs: () => number = Date.now) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  /** Admits a key that the caller made. */
  admit(name: string, key: string, { access = "write", projectId }: KeyScope = {}): KeyRecord {
    return this.#put({ name, access, projectId, createdMs: this.#nowMs(), hash: hashOf(key) });
  }

  /** Admits a key again after all records were replaced, unless it is still there. */
  readmit(before: KeyRecord): KeyRecord {
    return this.list().find(({ hash }) => hash === before.hash) ?? this.#put(before);
  }

  /** Makes a key. @throws Refusal NotAllowed (there are too many) */
  create(name: string, scope: KeyScope = {}): NewKey {
    requireRoom(this.list().length, controlLimit, "KEYS");
    const key = `sbx_${randomBytes(24).toString("hex")}`;
    return { record: this.admit(name, key, scope), key };
  }

  list(): readonly KeyRecord[] {
    return this.#store.keys.list();
  }

  /** @returns whether there was such a key. */
  revoke(id: string): boolean {
    const exists = this.#store.keys.get(id) !== undefined;
    this.#store.transaction(() => this.#store.keys.remove(id));
    this.#uses.delete(id);
    return exists;
  }

  /** The key that an `Authorization` header carries; `undefined` when it carries none that is known. */
  authenticate(authorization: string | undefined, address = ""): KeyRecord | undefined {
    const presented = Buffer.from(hashOf(/^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1] ?? ""));
    let found: KeyRecord | undefined;
    // Compare every key, so that the time taken reveals nothing about them.
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

  /** `undefined`: not since this process began. */
  lastUse(id: string): KeyUse | undefined {
    return this.#uses.get(id);
  }
}

/** 64 hexadecimal digits. */
function hashOf(key: string): string {
  return hash("sha256", key, "hex");
}

/** What is looked at to tell whether a key may call a route. */
export interface CallToJudge {
  readonly method: string;
  readonly notes: Partial<RouteNotes>;
  /** The project that the path names; `undefined`: it names none. */
  readonly projectId: string | undefined;
}

/** Why a key may not make a call; `undefined`: it may. */
export function permissionProblem(key: KeyRecord, { method, notes, projectId }: CallToJudge): string | undefined {
  if (key.access === "read") {
    if (method !== "GET" && method !== "HEAD") return "this key may only read";
    if (notes.revealsSecret === true) return "this key may not read secrets";
  }
  if (key.projectId === undefined) return undefined;
  if (notes.isAccountWide === true) return "this key is for one project only";
  return projectId === undefined || projectId === key.projectId ? undefined : "this key is for another project";
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** What the route does, in a few words, for the reference. */
    summary?: string;
    /** Fields of the body (`branch.parent_lsn`) or the query, or single values of them (`granularity=hourly`), that the real service knows and the sandbox cannot carry out. */
    notPlayed?: readonly string[];
    /** Not part of the reference. */
    isUndocumented?: boolean;
    /** The answer holds a secret: not for a key that may only read. */
    revealsSecret?: boolean;
    /** About more than one project: not for a key of one project. */
    isAccountWide?: boolean;
  }
  interface FastifyRequest {
    /** The key it carries; `undefined`: none that is known, or not a request of the API. */
    apiKey: KeyRecord | undefined;
  }
}

/** What a route says about itself. */
export interface RouteNotes {
  readonly summary: string;
  readonly ignoresBody?: boolean;
  readonly revealsSecret?: boolean;
  readonly isAccountWide?: boolean;
}
