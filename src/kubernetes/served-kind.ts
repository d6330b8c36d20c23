/**
 * Watches a kind whose CustomResourceDefinition may be applied later than the operator, in all namespaces or in each of
 * some namespaces. Shows for each namespace whether the operator knows all resources of the kind (`KindStanding`).
 */
import type { Timer } from "../domain/clock.ts";
import {
  type KindStanding,
  KubernetesError,
  keyText,
  type ResourceKey,
  type ResourceStore,
} from "../domain/resource-store.ts";
import { group, version } from "../resource/names.ts";
import { KindWatch, type KindWatchOptions } from "./kind-watch.ts";
import type { ResourceKind, StoredResource } from "./store/resource-kinds.ts";

export interface ServedKindOptions extends KindWatchOptions {
  /** Called each time `standing` has changed, which is what the operator knows of the kind. Must not throw. */
  readonly onStanding: () => void;
}

/**
 * If the kind is not served or may not be read, the operator asks the API server again after this many milliseconds.
 */
const askAgainMs = 30_000;
/** After another failure, the operator asks the API server again after this many milliseconds. */
const listAgainMs = 5_000;
const askTimeoutMs = 8_000;

/**
 * One kind, in one namespace or in all. The watch begins with `start`, because only the leader acts on the resources.
 */
export class ServedKind<Resource extends StoredResource<Status>, Status extends object> {
  readonly #kind: ResourceKind<Resource, Status>;
  readonly #options: ServedKindOptions;
  readonly #watch: KindWatch<Resource, Status>;
  #standing: KindStanding = "NotAsked";
  #timer: Timer | undefined;
  #isStopped = false;
  readonly #logged = new Set<string>();
  #isAsking = false;

  constructor(kind: ResourceKind<Resource, Status>, options: ServedKindOptions) {
    this.#kind = kind;
    this.#options = options;
    this.#watch = new KindWatch(kind, { ...options, onListFailed: (error) => void this.#listFailed(error) });
  }

  get standing(): KindStanding {
    return this.#standing;
  }

  /** The cached resources. They are complete only if the standing is `Listed`. */
  get store(): ResourceStore<Resource, Status> {
    return this.#watch.store;
  }

  /** Asks whether the cluster serves the kind, and lists it, again and again until it is listed. Call it once. */
  start(): void {
    void this.#list();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#watch.stop();
  }

  async #list(): Promise<void> {
    const before = this.#standing;
    const { standing, againMs } = await this.#ask();
    if (this.#isStopped) {
      return;
    }
    this.#standing = standing;
    if (againMs !== undefined) {
      this.#timer = this.#options.clock.after(againMs, () => void this.#list());
    }
    if (before !== standing) {
      this.#options.onStanding();
    }
  }

  /**
   * @returns what the operator knows of the kind, and when to ask again; `againMs` is `undefined` if the kind is listed
   *   or the watch is stopped
   */
  async #ask(): Promise<{ readonly standing: KindStanding; readonly againMs?: number }> {
    try {
      if (!(await this.#isServed())) {
        return { standing: "NotServed", againMs: askAgainMs };
      }
      if (this.#isStopped) {
        return { standing: this.#standing };
      }
      this.#watch.start();
      // A new leader acts from what the API server stores now, not from what a watch saw before.
      await this.#watch.listConsistently();
      return { standing: "Listed" };
    } catch (error) {
      this.#logOnce(error);
      const isForbidden = error instanceof KubernetesError && error.reason === "Forbidden";
      return isForbidden
        ? { standing: "Forbidden", againMs: askAgainMs }
        : { standing: this.#standing, againMs: listAgainMs };
    }
  }

  async #isServed(): Promise<boolean> {
    const path = `/apis/${group}/${version}`;
    const call = { what: `find the kinds of ${group}`, method: "GET", path, timeoutMs: askTimeoutMs } as const;
    // Only a list of kinds without this one proves that the kind is not served. A 404 proves nothing: the list has
    // ComputeEndpoint too, so an API server that serves the operator never answers 404. A proxy may.
    const { resources } = ((await this.#options.connection.request(call)) ?? {}) as { readonly resources?: unknown };
    if (!Array.isArray(resources)) {
      throw new KubernetesError("UnreadableAnswer", `cannot ${call.what}: the answer holds no list of kinds`);
    }
    return resources.some(({ name }) => name === this.#kind.plural);
  }

  /**
   * Asks again whether the cluster serves the kind, if a later list failed because the kind was removed. The cache then
   * holds resources that do not exist.
   */
  async #listFailed(error: unknown): Promise<void> {
    const isMissing = error instanceof KubernetesError && ["NotFound", "NotServed"].includes(error.reason);
    if (this.#standing !== "Listed" || this.#isAsking || !isMissing) {
      return;
    }
    this.#isAsking = true;
    await this.#list();
    this.#isAsking = false;
  }

  /** Logs the first failure of each reason, once in the life of the process. */
  #logOnce(error: unknown): void {
    const reason = error instanceof KubernetesError ? error.reason : "";
    if (!this.#logged.has(reason)) {
      this.#logged.add(reason);
      const { many: kind } = this.#kind;
      this.#options.logger.warn({ err: error, kind }, "cannot list the resources of a kind; the operator tries again");
    }
  }
}

interface KindPlacesOptions<Resource> extends Omit<ServedKindOptions, "onStanding"> {
  /**
   * Called each time the standing of the kind has changed in one place, a namespace or the whole cluster.
   * @param resources of this place; empty if it is not listed
   */
  readonly onStanding: (resources: readonly Resource[]) => void;
}

/** The resources of one kind: of the whole cluster in one place, or of some namespaces in a place each. */
export class KindPlaces<Resource extends StoredResource<Status>, Status extends object> {
  /** The resources of all namespaces in which the kind is listed, or of the whole cluster. */
  readonly store: ResourceStore<Resource, Status>;
  /** The places by namespace; the key `undefined` stands for the whole cluster. */
  readonly #places: ReadonlyMap<string | undefined, ServedKind<Resource, Status>>;

  constructor(kind: ResourceKind<Resource, Status>, options: KindPlacesOptions<Resource>) {
    const namespaces = options.namespaces.length === 0 ? [undefined] : [...new Set(options.namespaces)];
    this.#places = new Map(namespaces.map((namespace) => [namespace, placeOf(kind, namespace, options)]));
    this.store = this.#joinedStore();
  }

  /**
   * Returns what the operator knows of the kind in a namespace. `NotAsked`: the operator did not ask yet, or does not
   * watch the namespace.
   */
  standingIn(namespace: string | undefined): KindStanding {
    return this.#in(namespace)?.standing ?? "NotAsked";
  }

  /**
   * Whether the operator knows all resources of the kind: in each watched namespace they are listed, or the cluster
   * does not serve the kind.
   */
  isKnown(): boolean {
    return [...this.#places.values()].every(isKnown);
  }

  /**
   * Returns the watched namespaces whose resources the operator may not all know, with the standing of each. Empty if
   * the whole cluster is watched at once.
   */
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
      withIndex: (index) => this.#listed().flatMap((store) => store.withIndex(index)),
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
