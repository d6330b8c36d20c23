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

function createCache(onChange?: (name: string) => void) {
  const changes: string[] = [];
  const errors: unknown[] = [];
  const cache = new ResourceCache<Thing>({
    indexesOf: ({ project }) => project?.split(" ") ?? [],
    onChange: (key, origin) => {
      changes.push(`${key.name} ${origin}`);
      onChange?.(key.name);
    },
    onHandlerError: (_key, error) => errors.push(error),
  });
  const scope = cache.scope(undefined);
  const version = (name: string) => cache.get({ namespace: "n", name })?.resourceVersion;
  const list = (...resources: readonly Thing[]) => scope.replace(resources, "Listed");
  return { cache, scope, changes, errors, version, list };
}

describe("events", () => {
  it("older than the cached object, or the same again → dropped without a word", () => {
    const { scope, changes, version } = createCache();
    scope.applyChange(thing("a", 10));
    scope.applyChange(thing("a", 9));
    scope.applyChange(thing("a", 10));
    expect(version("a")).toBe("10");
    expect(changes).toEqual(["a Changed"]);
  });

  it("another uid under the same name → the old object is gone, its late events are dropped", () => {
    const { cache, scope, version } = createCache();
    scope.applyChange(thing("a", 10, { uid: "old", project: "p1" }));
    scope.applyChange(thing("a", 12, { uid: "new", project: "p2" }));
    scope.applyChange(thing("a", 11, { uid: "old" }));
    scope.applyDeletion(thing("a", 11, { uid: "old" }));
    expect(version("a")).toBe("12");
    expect(cache.withIndex("p1")).toEqual([]);
    expect(cache.withIndex("p2")).toHaveLength(1);
  });
});

describe("own writes", () => {
  it("the answer → cached at once; the watch events up to it, its own included → not reported", () => {
    const { cache, scope, changes, version } = createCache();
    scope.applyChange(thing("a", 10));
    cache.putOwnWrite(thing("a", 12));
    expect(version("a")).toBe("12");
    expect(changes).toHaveLength(1);
    scope.applyChange(thing("a", 11));
    expect(version("a")).toBe("12");
    expect(changes).toHaveLength(1);
    scope.applyChange(thing("a", 12));
    expect(changes).toHaveLength(1);
    scope.applyChange(thing("a", 13));
    expect(changes, "what another client changes after it").toHaveLength(2);
  });

  it("a read that is ahead of the watch → reported at once, and its event is not reported again", () => {
    const { cache, scope, changes } = createCache();
    scope.applyChange(thing("a", 10));
    cache.putRead(thing("a", 11));
    cache.putOwnWrite(thing("a", 12));
    scope.applyChange(thing("a", 11));
    scope.applyChange(thing("a", 12));
    expect(changes).toHaveLength(2);
  });

  it("the watch was faster than the answer → the newer object stays", () => {
    const { cache, scope, version } = createCache();
    scope.applyChange(thing("a", 10));
    scope.applyChange(thing("a", 12));
    scope.applyChange(thing("a", 15));
    cache.putOwnWrite(thing("a", 12));
    expect(version("a")).toBe("15");
  });

  it("the object was deleted before the answer came → stays gone", () => {
    const { cache, scope, version } = createCache();
    scope.applyChange(thing("a", 10));
    scope.applyDeletion(thing("a", 13));
    cache.putOwnWrite(thing("a", 12));
    cache.putRead(thing("a", 12));
    expect(version("a")).toBeUndefined();
  });

  it("our write was its end → gone, reported at once, and late events do not bring it back", () => {
    const { cache, scope, changes, version } = createCache();
    scope.applyChange(thing("a", 10));
    cache.putOwnDeletion(thing("a", 10));
    scope.applyChange(thing("a", 10));
    expect([version("a"), cache.list(), cache.withIndex("p")]).toEqual([undefined, [], []]);
    scope.applyDeletion(thing("a", 11));
    expect(changes).toEqual(["a Changed", "a Changed"]);
  });

  it("our write was its end, and another object has the name → that one is found", () => {
    const { cache, scope, version } = createCache();
    scope.applyChange(thing("a", 10, { uid: "old" }));
    cache.putOwnDeletion(thing("a", 10, { uid: "old" }));
    scope.applyChange(thing("a", 13, { uid: "new" }));
    scope.applyDeletion(thing("a", 12, { uid: "old" }));
    expect(version("a")).toBe("13");
  });
});

describe("lists", () => {
  it("the second list → only what differs is reported", () => {
    const { changes, list, version } = createCache();
    list(thing("a", 10), thing("b", 11), thing("c", 12));
    expect(changes).toEqual(["a Listed", "b Listed", "c Listed"]);
    changes.length = 0;
    list(thing("a", 10), thing("b", 25), thing("d", 26));
    expect(changes.toSorted()).toEqual(["b Listed", "c Changed", "d Listed"]);
    expect([version("a"), version("b"), version("c"), version("d")]).toEqual(["10", "25", undefined, "26"]);
  });

  it("an own write or deletion while the list was read → survives it", () => {
    const { cache, list, version } = createCache();
    list(thing("a", 10), thing("b", 11));
    cache.putOwnWrite(thing("a", 25));
    cache.putOwnDeletion(thing("b", 11));
    list(thing("a", 10), thing("b", 11));
    expect([version("a"), version("b")]).toEqual(["25", undefined]);
  });

  it("a list of one namespace → leaves the others alone", () => {
    const { cache } = createCache();
    cache.scope("right").replace([thing("a", 10, { namespace: "right" })], "Listed");
    cache.scope("left").replace([], "Listed");
    expect(cache.size).toBe(1);
  });
});

describe("the index and the handler", () => {
  it("a resource that changes its project → is found under the new one alone", () => {
    const { cache, scope } = createCache();
    scope.applyChange(thing("a", 10, { project: "p1" }));
    scope.applyChange(thing("a", 11, { project: "p2" }));
    expect(cache.withIndex("p1")).toEqual([]);
    expect(cache.withIndex("p2").map((resource) => resource.resourceVersion)).toEqual(["11"]);
    scope.applyDeletion(thing("a", 12));
    expect(cache.withIndex("p2")).toEqual([]);
  });

  it("a resource of two projects → is found under both, and under neither once it is gone", () => {
    const { cache, scope } = createCache();
    scope.applyChange(thing("a", 10, { project: "p1 p2" }));
    expect([cache.withIndex("p1"), cache.withIndex("p2")].map((found) => found.length)).toEqual([1, 1]);
    scope.applyChange(thing("a", 11, { project: "p2 p3" }));
    scope.applyDeletion(thing("a", 12));
    expect(["p1", "p2", "p3"].flatMap((project) => cache.withIndex(project))).toEqual([]);
  });

  it("a handler that throws → is reported, and the next change reaches the handler all the same", () => {
    const { cache, scope, changes, errors } = createCache((name) => {
      if (name === "bad") throw new Error("a bug in the handler");
    });
    scope.applyChange(thing("bad", 10));
    scope.applyChange(thing("good", 11));
    expect(changes).toEqual(["bad Changed", "good Changed"]);
    expect(errors).toHaveLength(1);
    expect(cache.size).toBe(2);
  });
});
