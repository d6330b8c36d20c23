/** Watches one kind in each namespace apart, so that a right that is missing in one namespace concerns that one alone. */
import { type KindStanding, keyText, type ResourceKey, type ResourceStore } from "../domain/resource-store.ts";
import { ServedKind, type ServedKindOptions } from "./served-kind.ts";
import type { ResourceKind, StoredResource } from "./store/kind-parser.ts";

/** What to watch, and what to call. */
export interface KindPlacesOptions<Resource> extends Omit<ServedKindOptions, "onStanding"> {
  /** Called each time the standing of one place has changed. @param resources of this place, if it is listed now */
  readonly onStanding: (resources: readonly Resource[]) => void;
}

/** The resources of one kind: of the whole cluster in one place, or of some namespaces in a place each. */
export class KindPlaces<Resource extends StoredResource<Status>, Status extends object> {
  /** The resources of all places that are listed. */
  readonly store: ResourceStore<Resource, Status>;
  /** The places by namespace; the key `undefined` stands for the whole cluster. */
  readonly #places: ReadonlyMap<string | undefined, ServedKind<Resource, Status>>;

  constructor(kind: ResourceKind<Resource, Status>, options: KindPlacesOptions<Resource>) {
    const namespaces = options.namespaces.length === 0 ? [undefined] : [...new Set(options.namespaces)];
    this.#places = new Map(namespaces.map((namespace) => [namespace, placeOf(kind, namespace, options)]));
    this.store = this.#joinedStore();
  }

  /** Returns what the operator knows of the kind in a namespace. `NotAsked` if it does not watch the namespace. */
  standingIn(namespace: string | undefined): KindStanding {
    return this.#in(namespace)?.standing ?? "NotAsked";
  }

  /** Whether the store has every resource of all places, or the cluster does not serve the kind. */
  isKnown(): boolean {
    return [...this.#places.values()].every(isKnown);
  }

  /** Returns the watched namespaces that may have resources which the operator does not know. */
  unlistedNamespaces(): ReadonlyMap<string, KindStanding> {
    const unlisted = [...this.#places].flatMap(([namespace, place]) =>
      namespace === undefined || isKnown(place) ? [] : [[namespace, place.standing] as const],
    );
    return new Map(unlisted);
  }

  start(): void {
    for (const place of this.#places.values()) {
      place.start();
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#places.values()].map((place) => place.stop()));
  }

  #in(namespace: string | undefined): ServedKind<Resource, Status> | undefined {
    return this.#places.get(undefined) ?? this.#places.get(namespace);
  }

  #listed(): readonly ResourceStore<Resource, Status>[] {
    return [...this.#places.values()].flatMap(({ standing, store }) => (standing === "Listed" ? [store] : []));
  }

  #joinedStore(): ResourceStore<Resource, Status> {
    const listed = ({ namespace }: ResourceKey) => {
      const place = this.#in(namespace);
      return place?.standing === "Listed" ? place.store : undefined;
    };
    const of = (key: ResourceKey) => {
      const store = listed(key);
      if (store === undefined) throw new Error(`the namespace of ${keyText(key)} is not listed`);
      return store;
    };
    return {
      get: (key) => listed(key)?.get(key),
      current: (key) => of(key).current(key),
      read: (key) => of(key).read(key),
      addFinalizer: (resource) => of(resource.key).addFinalizer(resource),
      removeFinalizer: (resource) => of(resource.key).removeFinalizer(resource),
      patchStatus: (resource, status) => of(resource.key).patchStatus(resource, status),
      list: () => this.#listed().flatMap((store) => store.list()),
      inProject: (projectId) => this.#listed().flatMap((store) => store.inProject(projectId)),
    };
  }
}

function isKnown({ standing }: { readonly standing: KindStanding }): boolean {
  return standing === "Listed" || standing === "NotServed";
}

function placeOf<Resource extends StoredResource<Status>, Status extends object>(
  kind: ResourceKind<Resource, Status>,
  namespace: string | undefined,
  options: KindPlacesOptions<Resource>,
): ServedKind<Resource, Status> {
  const place: ServedKind<Resource, Status> = new ServedKind(kind, {
    ...options,
    namespaces: namespace === undefined ? [] : [namespace],
    onStanding: () => options.onStanding(place.standing === "Listed" ? place.store.list() : []),
  });
  return place;
}
