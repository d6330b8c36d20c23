/** A reflector over a scripted API server, for tests. */
import { KubernetesError, type KubernetesReason, type StoredIdentity } from "../../../../src/domain/resource-store.ts";
import type { WatchEvent } from "../../../../src/kubernetes/watch/list-watch.ts";
import { Reflector } from "../../../../src/kubernetes/watch/reflector.ts";
import { ResourceCache } from "../../../../src/kubernetes/watch/resource-cache.ts";
import { FakeClock, settlePromises } from "../../../support/fake-clock.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";
import { ScriptedListWatch } from "./scripted-list-watch.ts";

/** The content of the cache. */
export interface Thing extends StoredIdentity {
  readonly generation: number;
}

/** Makes an object as the API server sends it. With an empty uid it cannot be parsed. */
export function object(name: string, version: number, uid = `uid-${name}`) {
  return { metadata: { namespace: "n", name, uid, resourceVersion: String(version) } };
}

function parse(stored: unknown): Thing | undefined {
  const { metadata } = stored as ReturnType<typeof object>;
  if (metadata.uid === "") return undefined;
  const { namespace, name, uid, resourceVersion } = metadata;
  return { key: { namespace, name }, uid, resourceVersion, generation: 1 };
}

/** An event of a watch. */
export const added = (name: string, version: number, uid?: string): WatchEvent => ({
  type: "ADDED",
  object: object(name, version, uid),
});
/** See `added`. */
export const modified = (name: string, version: number): WatchEvent => ({ ...added(name, version), type: "MODIFIED" });
/** See `added`. */
export const deleted = (name: string, version: number): WatchEvent => ({ ...added(name, version), type: "DELETED" });
/** Makes the event that ends a watch, with a `Status` in it. */
export const errorEvent = (code: number, reason: string): WatchEvent => ({
  type: "ERROR",
  object: { kind: "Status", code, reason },
});
/** What a call fails with. */
export const failure = (reason: KubernetesReason, retryAfterMs?: number) =>
  new KubernetesError(reason, "scripted", { retryAfterMs });

/** The differences of a scene to the usual one. */
export interface SceneOptions {
  /** The random number of the delays. @default nearly 1: every pause has its full length */
  readonly random?: () => number;
}

/** Makes a reflector with a scripted server and simulated time, and does not start it. */
export function createReflector(options: SceneOptions = {}) {
  const clock = new FakeClock();
  const server = new ScriptedListWatch();
  const changes: string[] = [];
  const onChange = (key: { readonly name: string }) => void changes.push(key.name);
  const cache = new ResourceCache<Thing>({ indexesOf: () => [], onChange });
  const random = options.random ?? (() => 0.999_999_9);
  const reflector = new Reflector({
    listWatch: server,
    cache,
    namespace: undefined,
    parse,
    clock,
    logger: quietLogger,
    random,
  });
  const versions = () =>
    Object.fromEntries(cache.list().map((thing) => [thing.key.name, Number(thing.resourceVersion)]));
  return { clock, server, cache, reflector, changes, versions };
}

/** Makes a reflector that waits for its first list. */
export async function startListing(options: SceneOptions = {}) {
  const all = createReflector(options);
  all.reflector.start();
  await settlePromises();
  return all;
}

/** Makes a reflector that has listed `a` at version 10 and has an open watch. */
export async function startWatching(options: SceneOptions = {}) {
  const all = await startListing(options);
  all.server.lastList.answer({ items: [object("a", 10)], resourceVersion: "20" });
  await settlePromises();
  all.server.lastWatch.open();
  await settlePromises();
  return all;
}
