import type { GrantSource, ResourceKey, StoredIdentity } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { branchesOfAnnotation, grantAnnotation } from "../resource/names.ts";
import { metadataOf } from "./http/objects.ts";
import { KindWatch, type KindWatchOptions } from "./kind-watch.ts";
import type { ResourceKind } from "./store/resource-kinds.ts";

type NamespaceFacts = Omit<ReturnType<GrantSource["grantsOf"]>, "isAnyAnnotated">;

/** A Namespace counts as an object in itself. */
interface Namespace extends StoredIdentity {
  readonly facts: NamespaceFacts;
  readonly finalizers: readonly string[];
  readonly status: object;
}

const namespaceKind: ResourceKind<Namespace, object> = {
  ...{ kind: "Namespace", many: "Namespaces", plural: "namespaces", finalizer: "", parse: parseNamespace },
  indexesOf: () => [],
};

export interface NamespaceGrantsOptions extends Omit<KindWatchOptions, "onChange" | "fence" | "timing"> {
  /** The interval between two reads of a Namespace that is read by name, in milliseconds. */
  readonly readAgainMs: number;
  /** `undefined`: the grants of every namespace may have changed. Must not throw. */
  readonly onChange: (namespace: string | undefined) => void;
}

const unknownNamespace: NamespaceFacts = { annotation: undefined, labels: undefined };

export class NamespaceGrants extends KindWatch<Namespace, object> implements GrantSource {
  readonly #facts = new Map<string, NamespaceFacts>();
  readonly #onChange: NamespaceGrantsOptions["onChange"];
  #annotated = 0;

  constructor(options: NamespaceGrantsOptions) {
    super(namespaceKind, {
      ...options,
      ...(options.namespaces.length > 0 && { timing: { relistMs: options.readAgainMs } }),
      // The operator never writes a Namespace.
      fence: { mayStartEffect: () => false },
      onChange: (key) => this.#changed(key),
    });
    this.#onChange = options.onChange;
  }

  grantsOf(namespace: string) {
    return { ...(this.#facts.get(namespace) ?? unknownNamespace), isAnyAnnotated: this.#annotated > 0 };
  }

  #changed(key: ResourceKey): void {
    const { name } = key;
    const before = this.#facts.get(name) ?? unknownNamespace;
    const after = this.store.get(key)?.facts;
    if (after === undefined) {
      this.#facts.delete(name);
    } else {
      this.#facts.set(name, after);
    }
    if (isSameStored(before, after ?? unknownNamespace)) {
      return;
    }
    const wasAny = this.#annotated > 0;
    this.#annotated += Number(after?.annotation !== undefined) - Number(before.annotation !== undefined);
    this.#onChange(wasAny === this.#annotated > 0 ? name : undefined);
  }
}

export function parseNamespace(stored: unknown): Namespace {
  const { name, uid, resourceVersion, annotations, labels } = metadataOf(stored);
  if (typeof name !== "string" || typeof uid !== "string" || typeof resourceVersion !== "string") {
    throw new TypeError("a Namespace has no name, uid or resourceVersion");
  }
  const given = (annotations ?? {}) as Readonly<Record<string, string>>;
  return {
    ...{ key: { namespace: name, name }, uid, resourceVersion, finalizers: [], status: {} },
    facts: {
      annotation: given[grantAnnotation],
      branchesOf: given[branchesOfAnnotation],
      labels: (labels ?? {}) as Readonly<Record<string, string>>,
    },
  };
}
