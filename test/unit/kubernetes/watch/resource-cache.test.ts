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
  const list = (resourceVersion: number, ...resources: readonly Thing[]) =>
    scope.replace({ resources, resourceVersion: String(resourceVersion), floor: scope.floor() });
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

  it("a name taken over and then free → late events of either object bring nothing back", () => {
    const { scope, version } = createCache();
    scope.applyChange(thing("a", 10, { uid: "old" }));
    scope.applyChange(thing("a", 12, { uid: "new" }));
    scope.applyDeletion(thing("a", 13, { uid: "new" }));
    scope.applyChange(thing("a", 10, { uid: "old" }));
    scope.applyChange(thing("a", 12, { uid: "new" }));
    expect(version("a")).toBeUndefined();
  });

  it("a change after the deletion, but from before it → does not bring it back", () => {
    const { scope, changes, version } = createCache();
    scope.applyChange(thing("a", 10));
    scope.applyDeletion(thing("a", 12));
    scope.applyChange(thing("a", 11));
    expect(version("a")).toBeUndefined();
    expect(changes).toEqual(["a Changed", "a Changed"]);
  });

  it("the same uid, newer than its deletion → believed: the cluster was restored", () => {
    const { scope, version } = createCache();
    scope.applyDeletion(thing("a", 12));
    scope.applyChange(thing("a", 13));
    expect(version("a")).toBe("13");
  });
});

describe("own writes", () => {
  it("the answer → cached at once; the watch events up to it, its own included → not reported", () => {
    const { cache, scope, changes, version } = createCache();
    const before = thing("a", 10);
    scope.applyChange(before);
    cache.putOwnWrite(before, thing("a", 12));
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

  it("a write onto what a read had shown before the watch → its event reports what was not reported yet", () => {
    const { cache, scope, changes } = createCache();
    scope.applyChange(thing("a", 10));
    cache.putRead(thing("a", 11));
    cache.putOwnWrite(thing("a", 11), thing("a", 12));
    scope.applyChange(thing("a", 11));
    expect(changes).toHaveLength(1);
    scope.applyChange(thing("a", 12));
    scope.applyChange(thing("a", 12));
    expect(changes).toHaveLength(2);
  });

  it("the watch was faster than the answer → the newer object stays", () => {
    const { cache, scope, version } = createCache();
    const before = thing("a", 10);
    scope.applyChange(before);
    scope.applyChange(thing("a", 12));
    scope.applyChange(thing("a", 15));
    cache.putOwnWrite(before, thing("a", 12));
    expect(version("a")).toBe("15");
  });

  it("the object was deleted before the answer came → stays gone", () => {
    const { cache, scope, version } = createCache();
    const before = thing("a", 10);
    scope.applyChange(before);
    scope.applyDeletion(thing("a", 13));
    cache.putOwnWrite(before, thing("a", 12));
    cache.putRead(thing("a", 12));
    expect(version("a")).toBeUndefined();
  });

  it("a write on the cached version whose answer has a lower one (restored etcd) → believed", () => {
    const { cache, scope, version } = createCache();
    const before = thing("a", 1_000);
    scope.applyChange(before);
    cache.putOwnWrite(before, thing("a", 7));
    expect(version("a")).toBe("7");
  });

  it("our write was its end → gone, reported at once, and late events do not bring it back", () => {
    const { cache, scope, changes, version } = createCache();
    scope.applyChange(thing("a", 10));
    cache.putOwnDeletion(thing("a", 10));
    scope.applyChange(thing("a", 10));
    scope.applyDeletion(thing("a", 11));
    expect(version("a")).toBeUndefined();
    expect(changes).toEqual(["a Changed", "a Changed"]);
  });
});

describe("lists", () => {
  it("the first → everything is reported as Listed; the second → only what differs", () => {
    const { changes, list, version } = createCache();
    list(20, thing("a", 10), thing("b", 11), thing("c", 12));
    expect(changes).toEqual(["a Listed", "b Listed", "c Listed"]);
    changes.length = 0;
    list(30, thing("a", 10), thing("b", 25), thing("d", 26));
    expect(changes.toSorted()).toEqual(["b Changed", "c Changed", "d Changed"]);
    expect([version("a"), version("b"), version("c"), version("d")]).toEqual(["10", "25", undefined, "26"]);
  });

  it("an own write while the list was read → survives it, changed and new alike", () => {
    const { cache, scope, list, version } = createCache();
    list(20, thing("a", 10));
    const floor = scope.floor();
    cache.putOwnWrite(thing("a", 10), thing("a", 25));
    cache.putRead(thing("b", 24));
    scope.replace({ resources: [thing("a", 10)], resourceVersion: "22", floor });
    expect([version("a"), version("b")]).toEqual(["25", "24"]);
  });

  it("a list from before a deletion that is known → does not bring it back", () => {
    const { cache, scope, list, version } = createCache();
    list(20, thing("a", 10));
    const floor = scope.floor();
    cache.putOwnDeletion(thing("a", 10));
    scope.replace({ resources: [thing("a", 10)], resourceVersion: "20", floor });
    expect(version("a")).toBeUndefined();
  });

  it("a list begun after a version, yet older than it → a new epoch: the list is believed whole", () => {
    const { scope, list, changes, version } = createCache();
    expect(list(1_000, thing("a", 900), thing("b", 800))).toBe(false);
    scope.applyDeletion(thing("gone", 1_001));
    changes.length = 0;
    expect(list(50, thing("a", 40), thing("gone", 30))).toBe(true);
    expect([version("a"), version("b"), version("gone")]).toEqual(["40", undefined, "30"]);
    expect(changes.toSorted()).toEqual(["a Changed", "b Changed", "gone Changed"]);
    scope.applyChange(thing("a", 51));
    scope.applyChange(thing("gone", 52));
    expect([version("a"), version("gone")], "versions count from the new epoch on").toEqual(["51", "52"]);
    expect(list(60, thing("a", 51))).toBe(false);
  });

  it("a restored etcd whose revision was raised → what the list shows is believed, though each version is lower", () => {
    const { cache, scope, list, changes, version } = createCache();
    list(1_000, thing("a", 900), thing("b", 800), thing("late", 700), thing("same", 600));
    scope.applyDeletion(thing("b", 1_001));
    list(1_100, thing("a", 900), thing("same", 600));
    changes.length = 0;
    const restored = [thing("a", 480), thing("b", 490), thing("late", 700), thing("same", 600)];
    expect(list(1_000_000, ...restored)).toBe(true);
    expect(cache.list().map(({ key }) => `${key.name} ${version(key.name)}`)).toEqual([
      "a 480",
      "same 600",
      "b 490",
      "late 700",
    ]);
    expect(changes.toSorted()).toEqual(["a Changed", "b Changed", "late Changed"]);
    changes.length = 0;
    expect(list(1_000_001, ...restored), "from then on it is the known history").toBe(false);
    expect(changes).toEqual([]);
    scope.applyChange(thing("b", 1_000_002));
    expect(version("b")).toBe("1000002");
  });

  it("an object whose last version is the list's own, replaced while the list was read → not of another history", () => {
    const { cache, scope, list, version } = createCache();
    list(20, thing("a", 10, { uid: "old" }));
    const floor = scope.floor();
    scope.applyDeletion(thing("a", 12, { uid: "old" }));
    cache.putRead(thing("a", 25, { uid: "new" }));
    const listed = [thing("a", 10, { uid: "old" })];
    expect(scope.replace({ resources: listed, resourceVersion: "22", floor })).toBe(false);
    expect(version("a")).toBe("25");
  });

  it("bookmarks and own writes count as versions seen", () => {
    const { cache, scope, list } = createCache();
    list(20, thing("a", 10));
    scope.applyBookmark("40");
    expect(scope.floor()).toBe("40");
    cache.putOwnWrite(thing("a", 10), thing("a", 45));
    expect(scope.floor()).toBe("45");
  });

  it("a list of one namespace → leaves the others alone", () => {
    const { cache } = createCache();
    const [left, right] = [cache.scope("left"), cache.scope("right")];
    right.replace({ resources: [thing("a", 10, { namespace: "right" })], resourceVersion: "20", floor: undefined });
    left.replace({ resources: [], resourceVersion: "21", floor: undefined });
    expect(cache.size).toBe(1);
    expect(left.floor()).toBe("21");
    expect(right.floor()).toBe("20");
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
