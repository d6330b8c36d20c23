/** Reads the grants of Namespaces, and follows their changes. */
import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";
import { type GrantSource, KubernetesError, type StoredIdentity } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { grantAnnotation } from "../resource/names.ts";
import type { KubernetesConnection } from "./http/connection.ts";
import { metadataOf, objectPath, readObject } from "./http/objects.ts";
import { KindWatch } from "./kind-watch.ts";
import type { ResourceKind } from "./store/resource-kinds.ts";

export interface NamespaceWatchOptions {
  readonly connection: KubernetesConnection;
  /** Only these Namespace objects are read, one by one. Empty: the operator watches all Namespace objects. */
  readonly namespaces: readonly string[];
  /** The interval between two reads of namespaces that are read by name, in milliseconds. */
  readonly readAgainMs: number;
  /** `undefined`: the grants of every namespace may have changed. Must not throw. */
  readonly onChange: (namespace: string | undefined) => void;
  readonly onRestored?: (() => void) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
}

export interface NamespaceWatch extends GrantSource {
  start(): void;
  stop(): Promise<void>;
  /**
   * Reads all Namespaces, or the named ones, from the API server now. A new leader calls it before its first effect. If
   * the operator has no right to read a Namespace, one line is logged. What the operator read of that Namespace before
   * still counts. A Namespace that was never read counts as one without the grant annotation.
   * @throws KubernetesError when one of them cannot be read for another reason
   */
  listConsistently(): Promise<void>;
}

export function createNamespaceWatch(options: NamespaceWatchOptions): NamespaceWatch {
  const known = new KnownNamespaces(options.onChange);
  return options.namespaces.length === 0 ? watchAll(options, known) : readNamed(options, known);
}

interface NamespaceFacts {
  readonly annotation: string | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
}

const unknownNamespace: NamespaceFacts = { annotation: undefined, labels: undefined };

class KnownNamespaces implements GrantSource {
  readonly #facts = new Map<string, NamespaceFacts>();
  #annotated = 0;
  readonly #onChange: NamespaceWatchOptions["onChange"];

  constructor(onChange: NamespaceWatchOptions["onChange"]) {
    this.#onChange = onChange;
  }

  grantsOf(namespace: string) {
    const { annotation, labels } = this.#facts.get(namespace) ?? unknownNamespace;
    return { annotation, isAnyAnnotated: this.#annotated > 0, labels };
  }

  /** Notes one Namespace. @param facts `undefined`: it does not exist, or cannot be read */
  note(namespace: string, facts: NamespaceFacts | undefined): void {
    const before = this.#facts.get(namespace) ?? unknownNamespace;
    const after = facts ?? unknownNamespace;
    if (facts === undefined) {
      this.#facts.delete(namespace);
    } else {
      this.#facts.set(namespace, facts);
    }
    // A Namespace that is seen for the first time counts as a change only if it has the grant annotation or labels, or
    // is being deleted.
    if (isSameStored({ ...before, labels: before.labels ?? {} }, { ...after, labels: after.labels ?? {} })) {
      return;
    }
    const wasAny = this.#annotated > 0;
    this.#annotated += Number(after.annotation !== undefined) - Number(before.annotation !== undefined);
    this.#onChange(wasAny === this.#annotated > 0 ? namespace : undefined);
  }
}

/** One Namespace. Its name is in `key.name`. */
interface KnownNamespace extends StoredIdentity {
  readonly facts: NamespaceFacts;
  readonly finalizers: readonly string[];
  readonly status: object;
}

/** The operator only reads Namespaces. */
const namespaceKind: ResourceKind<KnownNamespace, object> = {
  ...{ kind: "Namespace", many: "Namespaces", plural: "namespaces", finalizer: "", parse: parseNamespace },
  indexesOf: () => [],
};

function watchAll(options: NamespaceWatchOptions, known: KnownNamespaces): NamespaceWatch {
  const watch = new KindWatch(namespaceKind, {
    ...{ ...options, namespaces: [], fence: { mayStartEffect: () => false } },
    onChange: (key) => known.note(key.name, watch.store.get(key)?.facts),
  });
  return {
    grantsOf: (namespace) => known.grantsOf(namespace),
    start: () => watch.start(),
    stop: () => watch.stop(),
    listConsistently: () => unlessForbidden(options.logger, () => watch.listConsistently()),
  };
}

function readNamed(options: NamespaceWatchOptions, known: KnownNamespaces): NamespaceWatch {
  const { connection, namespaces, readAgainMs, clock, logger } = options;
  let timer: ReturnType<Clock["after"]> | undefined;
  let isStopped = false;
  const read = async (namespace: string) => {
    const path = objectPath("namespaces", "", namespace);
    const found = await readObject(connection, `namespace ${namespace}`, path);
    known.note(namespace, found === undefined ? undefined : parseNamespace(found).facts);
  };
  const readAll = async () => {
    const results = await Promise.allSettled(namespaces.map(read));
    const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    if (failures.length > 0) {
      throw failures.find((failure) => !isNotPermitted(failure)) ?? failures[0];
    }
  };
  const readAgain = () => {
    timer = clock.after(readAgainMs, () => {
      // If a read fails, the last known grants stay until the next read.
      void readAll()
        .catch(() => {})
        .finally(() => (isStopped ? undefined : readAgain()));
    });
  };
  return {
    grantsOf: (namespace) => known.grantsOf(namespace),
    start: readAgain,
    async stop() {
      isStopped = true;
      timer?.cancel();
    },
    listConsistently: () => unlessForbidden(logger, readAll),
  };
}

async function unlessForbidden(logger: Logger, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (!isNotPermitted(error)) {
      throw error;
    }
    logger.warn(
      { err: error },
      "the operator may not read Namespaces, so it sees no grants; apply the roles of deploy/base",
    );
  }
}

function isNotPermitted(error: unknown): boolean {
  return error instanceof KubernetesError && ["Forbidden", "NotFound"].includes(error.reason);
}

/** Parses a stored Namespace. Pure. @throws TypeError when the object has no name, uid or resourceVersion */
export function parseNamespace(stored: unknown): KnownNamespace {
  const { name, uid, resourceVersion, annotations, labels } = metadataOf(stored);
  if (typeof name !== "string" || typeof uid !== "string" || typeof resourceVersion !== "string") {
    throw new TypeError("a Namespace has no name, uid or resourceVersion");
  }
  const annotation = (annotations as Readonly<Record<string, unknown>> | undefined)?.[grantAnnotation];
  return {
    ...{ key: { namespace: "", name }, uid, resourceVersion, finalizers: [], status: {} },
    facts: {
      annotation: typeof annotation === "string" ? annotation : undefined,
      labels: (labels ?? {}) as Readonly<Record<string, string>>,
    },
  };
}
