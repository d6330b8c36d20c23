/** A simulated etcd. */
import type { StoredObject } from "./answers.ts";

/** One change of one object, as a watch shows it. */
export interface Change {
  readonly revision: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly collection: string;
  readonly object: StoredObject;
}

/** The number of changes that are remembered. A watch from an earlier version is answered with 410. */
const historyLimit = 400;

/** The distance between the revisions of two changes, because other clients write other objects in between. */
const revisionStep = 16;

/** The etcd of the model: objects by key, one revision for all objects, and a history of limited length. */
export class ObjectStore {
  #revision = 1_000;
  readonly #objects = new Map<string, StoredObject>();
  #history: Change[] = [];
  /** The history begins after this revision. */
  #compactedRevision = 1_000;
  readonly #onChange: (change: Change) => void;

  /** @param onChange called after each change */
  constructor(onChange: (change: Change) => void) {
    this.#onChange = onChange;
  }

  get revision(): number {
    return this.#revision;
  }

  get(collection: string, namespace: string, name: string): StoredObject | undefined {
    return this.#objects.get(keyOf(collection, namespace, name));
  }

  /** Returns the objects in the order of their keys. */
  list(collection: string, namespace: string | undefined): readonly StoredObject[] {
    const prefix = `${collection}/${namespace === undefined ? "" : `${namespace}/`}`;
    return [...this.#objects]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object);
  }

  /**
   * Stores an object with a new revision.
   * @returns the stored object
   */
  put(collection: string, object: StoredObject): StoredObject {
    const key = keyOf(collection, object.metadata.namespace, object.metadata.name);
    const type = this.#objects.has(key) ? "MODIFIED" : "ADDED";
    const stored = this.#stamped(object);
    this.#objects.set(key, stored);
    this.#note({ revision: this.#revision, type, collection, object: stored });
    return stored;
  }

  /**
   * Removes an object.
   * @returns the object as its last watch event shows it
   */
  remove(collection: string, object: StoredObject): StoredObject {
    this.#objects.delete(keyOf(collection, object.metadata.namespace, object.metadata.name));
    const last = this.#stamped(object);
    this.#note({ revision: this.#revision, type: "DELETED", collection, object: last });
    return last;
  }

  /** Returns the changes after a revision, oldest first; `undefined`: some of them are forgotten. */
  changesAfter(collection: string, revision: number): readonly Change[] | undefined {
    if (revision < this.#compactedRevision) return undefined;
    return this.#history.filter((change) => change.revision > revision && change.collection === collection);
  }

  /** Forgets every change so far. */
  compact(): void {
    this.#history = [];
    this.#compactedRevision = this.#revision;
  }

  #stamped(object: StoredObject): StoredObject {
    this.#revision += revisionStep;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
  }

  #note(change: Change): void {
    this.#history.push(change);
    if (this.#history.length > historyLimit) {
      this.#compactedRevision = this.#history.shift()?.revision ?? this.#compactedRevision;
    }
    this.#onChange(change);
  }
}

function keyOf(collection: string, namespace: string, name: string): string {
  return `${collection}/${namespace}/${name}`;
}
