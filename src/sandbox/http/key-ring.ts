import { createHash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import type { KeyRecord } from "../engine/records.ts";
import type { Store } from "../storage/store.ts";

/** A key that was just made; the only moment at which it can be read. */
export interface NewKey {
  readonly id: string;
  readonly name: string;
  readonly key: string;
}

/** The API keys. Stored hashed, compared in constant time. */
export class KeyRing {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Admits a key that somebody else made. */
  admit(name: string, key: string): KeyRecord {
    return this.#store.transaction(() => {
      const sequence = this.#store.counters.get("keys") + 1;
      this.#store.counters.set("keys", sequence);
      const record: KeyRecord = {
        id: randomUUID(),
        sequence,
        name,
        access: "write",
        projectId: undefined,
        createdMs: 0,
        hash: hashOf(key).toString("hex"),
      };
      this.#store.keys.put(record);
      return record;
    });
  }

  /** Makes a key. */
  create(name: string): NewKey {
    const key = `sbx_${randomBytes(24).toString("hex")}`;
    const { id } = this.admit(name, key);
    return { id, name, key };
  }

  list(): readonly KeyRecord[] {
    return this.#store.keys.list();
  }

  /** @returns whether there was such a key. */
  revoke(id: string): boolean {
    const exists = this.#store.keys.get(id) !== undefined;
    this.#store.keys.remove(id);
    return exists;
  }

  /** The key that an `Authorization` header carries; `undefined` when it carries none that is known. */
  authenticate(authorization: string | undefined): KeyRecord | undefined {
    const presented = hashOf(/^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1] ?? "");
    let found: KeyRecord | undefined;
    // Every key is looked at, so that the time taken does not tell which one is close.
    for (const record of this.#store.keys.list()) {
      if (timingSafeEqual(Buffer.from(record.hash, "hex"), presented)) found = record;
    }
    return found;
  }
}

function hashOf(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
