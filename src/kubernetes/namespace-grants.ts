import type { GrantSource, StoredIdentity } from "../domain/resource-store.ts";
import { branchesOfAnnotation, grantAnnotation } from "../resource/names.ts";
import { metadataOf } from "./http/objects.ts";
import { KindWatch, type KindWatchOptions } from "./kind-watch.ts";

type NamespaceFacts = Omit<ReturnType<GrantSource["grantsOf"]>, "isAnyAnnotated">;

/** A Namespace counts as an object in itself. */
interface Namespace extends StoredIdentity {
  readonly facts: NamespaceFacts;
  readonly finalizers: readonly string[];
  readonly status: object;
}

/** The index of the Namespaces with the annotation that names projects. */
const annotated = "annotated";

export const namespaceKind = {
  kind: "Namespace",
  plural: "namespaces",
  shortName: "ns",
  finalizer: "",
  parse: parseNamespace,
  indexesOf: ({ facts }: Namespace) => (facts.annotation === undefined ? [] : [annotated]),
};

export interface NamespaceGrantsOptions extends Omit<KindWatchOptions, "onChange" | "fence" | "timing"> {
  /** The interval between two reads of a Namespace that is read by name, in milliseconds. */
  readonly readAgainMs: number;
  /** `undefined`: the grants of every namespace may have changed. Must not throw. */
  readonly onChange: (namespace: string | undefined) => void;
}

const unknownNamespace: NamespaceFacts = { annotation: undefined, labels: undefined };

export class NamespaceGrants extends KindWatch<Namespace, object> implements GrantSource {
  readonly #onChange: NamespaceGrantsOptions["onChange"];
  #isAnyAnnotated = false;

  constructor(options: NamespaceGrantsOptions) {
    super(namespaceKind, {
      ...options,
      ...(options.namespaces.length > 0 && { timing: { relistMs: options.readAgainMs } }),
      // The operator never writes a Namespace.
      fence: { mayStartEffect: () => false },
      onChange: ({ name }) => this.#changed(name),
    });
    this.#onChange = options.onChange;
  }

  grantsOf(namespace: string) {
    const { facts } = this.store.get({ namespace, name: namespace }) ?? { facts: unknownNamespace };
    return { ...facts, isAnyAnnotated: this.#isAnyAnnotated };
  }

  #changed(name: string): void {
    const wasAny = this.#isAnyAnnotated;
    this.#isAnyAnnotated = this.store.withIndex(annotated).length > 0;
    this.#onChange(wasAny === this.#isAnyAnnotated ? name : undefined);
  }
}

export function parseNamespace(stored: unknown): Namespace {
  const { name, uid, resourceVersion, annotations, labels } = metadataOf(stored);
  if (typeof name !== "string" || typeof uid !== "string" || typeof resourceVersion !== "string") {
    throw new TypeError("a Namespace has no name, uid or resourceVersion");
  }
  const given = (annotations ?? {}) as Readonly<Record<string, string>>;
  return {
    key: { namespace: name, name },
    uid,
    resourceVersion,
    finalizers: [],
    status: {},
    facts: {
      annotation: given[grantAnnotation],
      branchesOf: given[branchesOfAnnotation],
      labels: (labels ?? {}) as Readonly<Record<string, string>>,
    },
  };
}
