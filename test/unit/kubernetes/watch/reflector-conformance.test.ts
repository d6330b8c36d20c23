/** Tests that the reflector gives the same guarantees as other informers. */
import { describe, expect, it } from "vitest";
import { settlePromises } from "../../../support/fake-clock.ts";
import {
  added,
  createReflector,
  deleted,
  errorEvent,
  failure,
  modified,
  object,
  startWatching,
} from "./reflector-scene.ts";

describe("what reaches the cache", () => {
  it("a list after a gap → what is gone, new, changed, or another by its uid is reported; what is the same is not", async () => {
    const { server, clock, versions, changes, cache } = await startWatching();
    server.lastWatch.send(added("b", 21), added("c", 22), added("reborn", 23, "first"));
    server.lastWatch.send(errorEvent(500, "InternalError"));
    await clock.advance(800);
    changes.length = 0;
    const items = [object("a", 10), object("b", 30), object("reborn", 31, "second"), object("d", 32)];
    server.lastList.answer({ items, resourceVersion: "40" });
    await settlePromises();
    expect(versions()).toEqual({ a: 10, b: 30, reborn: 31, d: 32 });
    expect(cache.get({ namespace: "n", name: "reborn" })?.uid).toBe("second");
    expect(changes.toSorted()).toEqual(["b", "c", "d", "reborn"]);
  });

  it("an empty list → the cache is empty, and that is reported", async () => {
    const { server, clock, versions, changes } = await startWatching();
    server.lastWatch.end(failure("Expired"));
    await clock.advance(800);
    server.lastList.answer({ items: [], resourceVersion: "40" });
    await settlePromises();
    expect(versions()).toEqual({});
    expect(changes).toEqual(["a", "a"]);
  });

  it("another uid under a name, its deletion never seen → the new object; late news of the old one is dropped", async () => {
    const { server, clock, cache } = await startWatching();
    server.lastWatch.send(added("a", 30, "second"), modified("a", 25), deleted("a", 26));
    await clock.advance(1);
    expect(cache.get({ namespace: "n", name: "a" })).toMatchObject({ uid: "second", resourceVersion: "30" });
  });

  it("a change → the cache has it before the handler is called", async () => {
    const found: (string | undefined)[] = [];
    const look = () => found.push(cache.get({ namespace: "n", name: "a" })?.resourceVersion);
    const { server, clock, cache } = await startWatching({ onChange: look });
    server.lastWatch.send(modified("a", 21), deleted("a", 22));
    await clock.advance(1);
    expect(found).toEqual(["21", undefined]);
  });
});

describe("where a watch begins again", () => {
  for (const [name, last, from] of [
    ["an object added", added("b", 31), "31"],
    ["an object modified", modified("a", 32), "32"],
    ["an object deleted", deleted("a", 33), "33"],
    ["an object that cannot be read", added("bad", 34, ""), "34"],
    ["an unknown type of event", { type: "NEWS", object: object("a", 35) }, "20"],
  ] as const) {
    it(`the last thing heard was ${name} → from version ${from}`, async () => {
      const { server, clock } = await startWatching();
      server.lastWatch.send(last);
      await clock.advance(10_000);
      server.lastWatch.end();
      await settlePromises();
      expect(server.lastWatch.resourceVersion).toBe(from);
    });
  }

  it("too large a version for a server that lags (504, as an answer or as an ERROR event) → a list, and from there", async () => {
    const { server, clock } = await startWatching();
    server.lastWatch.send(errorEvent(504, "Timeout"));
    await clock.advance(800);
    server.lastList.answer({ resourceVersion: "60" });
    await settlePromises();
    for (const pauseMs of [1_600, 3_200, 6_400]) {
      server.lastWatch.refuse(failure("TimedOut"));
      await clock.advance(pauseMs);
    }
    expect(server.lists).toHaveLength(3);
    server.lastList.answer({ resourceVersion: "70" });
    await settlePromises();
    expect(server.lastWatch.resourceVersion).toBe("70");
  });
});

describe("what does not get through", () => {
  it("a watch that is closed at once, before any event, again and again → pauses that grow, every third time a list", async () => {
    const { server, clock } = await startWatching();
    const steps: string[] = [];
    for (const pauseMs of [800, 1_600, 3_200, 6_400, 12_800, 25_600]) {
      server.lastWatch.end();
      await clock.advance(pauseMs - 1);
      const before = server.lists.length;
      await clock.advance(1);
      const isList = server.lists.length > before;
      steps.push(isList ? "list" : "watch");
      if (isList) server.lastList.answer({ resourceVersion: "20" });
      await settlePromises();
      server.lastWatch.open();
      await settlePromises();
    }
    expect(steps).toEqual(["watch", "watch", "list", "watch", "watch", "list"]);
  });

  it("429 on opening, for as long as it lasts → the same version, longer pauses, no list before it is due", async () => {
    const { server, clock } = await startWatching();
    server.lastWatch.end(failure("Throttled"));
    for (let attempt = 0; attempt < 20; attempt += 1) {
      await clock.advance(29_000);
      expect(server.lastWatch.resourceVersion).toBe("20");
      server.lastWatch.refuse(failure("Throttled"));
    }
    expect(server.lists).toHaveLength(1);
    expect(server.watches.length).toBeLessThan(30);
    await clock.advance(40_000);
    expect(server.lists, "ten minutes after the first").toHaveLength(2);
  });

  it("429 as an ERROR event → a pause, then a list", async () => {
    const { server, clock } = await startWatching();
    server.lastWatch.send(errorEvent(429, "TooManyRequests"));
    await clock.advance(799);
    expect(server.calls).toBe(2);
    await clock.advance(1);
    expect(server.lists).toHaveLength(2);
  });

  it("a slow first list, each page just in time → synced after the last one, and watched only then", async () => {
    const { reflector, server, clock, versions } = createReflector();
    reflector.start();
    await settlePromises();
    for (const [index, continueToken] of ["t1", "t2", undefined].entries()) {
      expect(reflector.hasSynced()).toBe(false);
      expect(server.watches).toEqual([]);
      await clock.advance(29_999);
      server.lastList.answer({ items: [object(`page-${index}`, 10)], resourceVersion: "20", continueToken });
      await settlePromises();
    }
    expect(reflector.hasSynced()).toBe(true);
    expect(versions()).toEqual({ "page-0": 10, "page-1": 10, "page-2": 10 });
    expect(server.lastWatch.resourceVersion).toBe("20");
  });

  it("a namespace that goes, and our rights with it → empty, few requests; it comes back → listed and reported", async () => {
    const { server, clock, versions, changes } = await startWatching();
    server.lastWatch.send(deleted("a", 30));
    await clock.advance(10_000);
    server.lastWatch.end();
    await settlePromises();
    const before = server.calls;
    for (let second = 0; second < 300; second += 1) {
      server.lists.at(-1)?.fail(failure("Forbidden"));
      server.lastWatch.refuse(failure("Forbidden"));
      await clock.advance(1_000);
    }
    expect(server.calls - before).toBeLessThan(25);
    expect(versions()).toEqual({});
    await clock.advance(30_000);
    server.lastList.answer({ items: [object("a", 50, "another")], resourceVersion: "60" });
    await settlePromises();
    expect(versions()).toEqual({ a: 50 });
    expect(changes).toEqual(["a", "a", "a"]);
  });

  it("stopped → what still arrives, a page or an event, changes nothing and reports nothing", async () => {
    const watching = await startWatching();
    await watching.reflector.stop();
    watching.server.lastWatch.send(modified("a", 30), added("b", 31));
    await settlePromises();
    expect([watching.versions(), watching.changes]).toEqual([{ a: 10 }, ["a"]]);

    const listing = createReflector();
    listing.reflector.start();
    await settlePromises();
    await listing.reflector.stop();
    listing.server.lastList.answer({ items: [object("a", 10)], resourceVersion: "20" });
    await settlePromises();
    expect([listing.versions(), listing.changes, listing.reflector.hasSynced()]).toEqual([{}, [], false]);
  });
});
