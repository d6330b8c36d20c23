/** Tests the cache of resources. */
import { describe, expect, it } from "vitest";
import type { StoredIdentity } from "../../../../src/domain/resource-store.ts";
import { ResourceCache } from "../../../../src/kubernetes/watch/resource-cache.ts";

interface Thing extends StoredIdentity {
  readonly project: string | undefined;
}

function thing(
  name: string,
  version: number,
  options: { uid?: string; project?: string; namespace?: string } = {},
): Thing {
  const { uid = `uid-${name}`, project = "p", namespace = "n" } = options;
  return { key: { namespace, name }, uid, resourceVersion: String(version), project };
}

function cacheOf(...known: readonly Thing[]) {
  const changes: string[] = [];
  const cache = new ResourceCache<Thing>({
    indexesOf: ({ project }) => project?.split(" ") ?? [],
    onChange: (key) => void changes.push(key.name),
  });
  for (const each of known) cache.apply(each);
  const version = (name: string) => cache.get({ namespace: "n", name })?.resourceVersion;
  const list = (...resources: readonly Thing[]) => cache.replace(undefined, resources);
  return { cache, changes, version, list };
}

describe("events", () => {
  it("older than the cached object, or the same again → dropped without a word", () => {
    const { cache, changes, version } = cacheOf(thing("a", 10));
    cache.apply(thing("a", 9));
    cache.apply(thing("a", 10));
    expect(version("a")).toBe("10");
    expect(changes).toEqual(["a"]);
  });

  it("another uid under the same name → the old object is gone, its late events are dropped", () => {
    const { cache, version } = cacheOf();
    cache.apply(thing("a", 10, { uid: "old", project: "p1" }));
    cache.apply(thing("a", 12, { uid: "new", project: "p2" }));
    cache.apply(thing("a", 11, { uid: "old" }));
    cache.remove(thing("a", 11, { uid: "old" }));
    expect(version("a")).toBe("12");
    expect(cache.withIndex("p1")).toEqual([]);
    expect(cache.withIndex("p2")).toHaveLength(1);
  });
});

describe("own writes", () => {
  it("the answer → cached at once; the watch events up to it, its own included → not reported", () => {
    const { cache, changes, version } = cacheOf(thing("a", 10));
    cache.putOwnWrite(thing("a", 12));
    expect(version("a")).toBe("12");
    expect(changes).toHaveLength(1);
    cache.apply(thing("a", 11));
    expect(version("a")).toBe("12");
    expect(changes).toHaveLength(1);
    cache.apply(thing("a", 12));
    expect(changes).toHaveLength(1);
    cache.apply(thing("a", 13));
    expect(changes, "what another client changes after it").toHaveLength(2);
  });

  it("a read that is ahead of the watch → reported at once, and its event is not reported again", () => {
    const { cache, changes } = cacheOf(thing("a", 10));
    cache.putRead(thing("a", 11));
    cache.putOwnWrite(thing("a", 12));
    cache.apply(thing("a", 11));
    cache.apply(thing("a", 12));
    expect(changes).toHaveLength(2);
  });

  it("the watch was faster than the answer → the newer object stays", () => {
    const { cache, version } = cacheOf(thing("a", 10));
    cache.apply(thing("a", 12));
    cache.apply(thing("a", 15));
    cache.putOwnWrite(thing("a", 12));
    expect(version("a")).toBe("15");
  });

  it("the object was deleted before the answer came → stays gone", () => {
    const { cache, version } = cacheOf(thing("a", 10));
    cache.remove(thing("a", 13));
    cache.putOwnWrite(thing("a", 12));
    cache.putRead(thing("a", 12));
    expect(version("a")).toBeUndefined();
  });

  it("our write was its end → gone, reported at once, and late events do not bring it back", () => {
    const { cache, changes, version } = cacheOf(thing("a", 10));
    cache.putOwnDeletion(thing("a", 10));
    cache.apply(thing("a", 10));
    expect([version("a"), cache.list(), cache.withIndex("p")]).toEqual([undefined, [], []]);
    cache.remove(thing("a", 11));
    expect(changes).toEqual(["a", "a"]);
  });

  it("our write was its end, and another object has the name → that one is found", () => {
    const { cache, version } = cacheOf();
    cache.apply(thing("a", 10, { uid: "old" }));
    cache.putOwnDeletion(thing("a", 10, { uid: "old" }));
    cache.apply(thing("a", 13, { uid: "new" }));
    cache.remove(thing("a", 12, { uid: "old" }));
    expect(version("a")).toBe("13");
  });
});

describe("lists", () => {
  it("the second list → only what differs is reported", () => {
    const { changes, list, version } = cacheOf();
    list(thing("a", 10), thing("b", 11), thing("c", 12));
    expect(changes).toEqual(["a", "b", "c"]);
    changes.length = 0;
    list(thing("a", 10), thing("b", 25), thing("d", 26));
    expect(changes.toSorted()).toEqual(["b", "c", "d"]);
    expect([version("a"), version("b"), version("c"), version("d")]).toEqual(["10", "25", undefined, "26"]);
  });

  it("an own write or deletion while the list was read → survives it", () => {
    const { cache, list, version } = cacheOf();
    list(thing("a", 10), thing("b", 11));
    cache.putOwnWrite(thing("a", 25));
    cache.putOwnDeletion(thing("b", 11));
    list(thing("a", 10), thing("b", 11));
    expect([version("a"), version("b")]).toEqual(["25", undefined]);
  });

  it("a list of one namespace → leaves the others alone", () => {
    const { cache } = cacheOf();
    cache.replace("right", [thing("a", 10, { namespace: "right" })]);
    cache.replace("left", []);
    expect(cache.list().length).toBe(1);
  });
});

describe("the index and the handler", () => {
  it("a resource that changes its project → is found under the new one alone", () => {
    const { cache } = cacheOf();
    cache.apply(thing("a", 10, { project: "p1" }));
    cache.apply(thing("a", 11, { project: "p2" }));
    expect(cache.withIndex("p1")).toEqual([]);
    expect(cache.withIndex("p2").map((resource) => resource.resourceVersion)).toEqual(["11"]);
    cache.remove(thing("a", 12));
    expect(cache.withIndex("p2")).toEqual([]);
  });

  it("a resource of two projects → is found under both, and under neither once it is gone", () => {
    const { cache } = cacheOf();
    cache.apply(thing("a", 10, { project: "p1 p2" }));
    expect([cache.withIndex("p1"), cache.withIndex("p2")].map((found) => found.length)).toEqual([1, 1]);
    cache.apply(thing("a", 11, { project: "p2 p3" }));
    cache.remove(thing("a", 12));
    expect(["p1", "p2", "p3"].flatMap((project) => cache.withIndex(project))).toEqual([]);
  });
});
