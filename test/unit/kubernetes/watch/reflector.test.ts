/** Tests how the reflector lists and watches. */
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
  startListing,
  startWatching,
} from "./reflector-scene.ts";
import type { ScriptedListWatch } from "./scripted-list-watch.ts";

describe("list and watch", () => {
  it("a list of pages → all of them are read before anything is replaced", async () => {
    const { server, versions, cache } = await startListing();
    expect(server.lastList).toMatchObject({ limit: 250, continueToken: undefined });
    server.lastList.answer({ items: [object("a", 10)], resourceVersion: "20", continueToken: "t1" });
    await settlePromises();
    expect(server.lastList.continueToken).toBe("t1");
    expect(cache.list().length).toBe(0);
    server.lastList.answer({ items: [object("b", 11)], resourceVersion: "20" });
    await settlePromises();
    expect(versions()).toEqual({ a: 10, b: 11 });
  });

  it("a later page that is newer than the first → watched from the first, so that nothing in between is missed", async () => {
    const { server, versions } = await startListing();
    server.lastList.answer({ items: [object("a", 10)], resourceVersion: "20", continueToken: "t1" });
    await settlePromises();
    server.lastList.answer({ items: [object("b", 25)], resourceVersion: "30" });
    await settlePromises();
    expect(server.lastWatch.resourceVersion).toBe("20");
    server.lastWatch.open();
    server.lastWatch.send(deleted("a", 22));
    await settlePromises();
    expect(versions()).toEqual({ b: 25 });
  });

  it("a page whose token has expired → the whole list again, the cache as it was", async () => {
    const { server, clock, versions } = await startWatching();
    server.lastWatch.end(failure("Expired"));
    await clock.advance(800);
    server.lastList.answer({ items: [object("b", 30)], resourceVersion: "40", continueToken: "t1" });
    await settlePromises();
    server.lastList.fail(failure("Expired"));
    await settlePromises();
    expect(versions()).toEqual({ a: 10 });
    await clock.advance(1_600);
    expect(server.lastList.continueToken).toBeUndefined();
  });

  it("old events replayed → dropped, and the version to resume from does not go back", async () => {
    const { server, clock, versions, changes } = await startWatching();
    server.lastWatch.send(modified("a", 30), modified("a", 30), added("a", 10), modified("a", 25));
    await clock.advance(10_000);
    expect(versions()).toEqual({ a: 30 });
    expect(changes).toEqual(["a", "a"]);
    server.lastWatch.end();
    await settlePromises();
    expect(server.lastWatch.resourceVersion).toBe("30");
  });

  it("a quiet watch closed by the server after its time → no failure: resumes at once, lists nothing", async () => {
    const { server, clock } = await startWatching({ random: () => 0 });
    for (let round = 0; round < 5; round += 1) {
      await clock.advance(50_000);
      server.lastWatch.end();
      await settlePromises();
      server.lastWatch.open();
      await settlePromises();
    }
    expect(server.watches).toHaveLength(6);
    expect(server.lists).toHaveLength(1);
  });
});

describe("failures", () => {
  for (const [name, end] of [
    ["an ERROR event 410", (server: ScriptedListWatch) => server.lastWatch.send(errorEvent(410, "Expired"))],
    ["an ERROR event 500", (server: ScriptedListWatch) => server.lastWatch.send(errorEvent(500, "InternalError"))],
    [
      "an ERROR event that holds nothing",
      (server: ScriptedListWatch) => server.lastWatch.send({ type: "ERROR", object: undefined }),
    ],
    ["410 in the stream", (server: ScriptedListWatch) => server.lastWatch.end(failure("Expired"))],
    ["a line that cannot be read", (server: ScriptedListWatch) => server.lastWatch.end(failure("UnreadableAnswer"))],
  ] as const) {
    it(`${name} → a pause, then a list, then at once a watch; what was missed is reported`, async () => {
      const { server, clock, versions, changes } = await startWatching();
      await clock.advance(60_000);
      end(server);
      await clock.advance(799);
      expect(server.lists).toHaveLength(1);
      await clock.advance(1);
      expect(server.lists).toHaveLength(2);
      server.lastList.answer({ items: [object("b", 30)], resourceVersion: "40" });
      await settlePromises();
      expect(versions()).toEqual({ b: 30 });
      expect(changes).toEqual(["a", "a", "b"]);
      expect(server.lastWatch.resourceVersion).toBe("40");
    });
  }

  it("a watch is refused, again and again → a list after each, and pauses that grow until a watch is healthy", async () => {
    const { server, clock } = await startWatching();
    for (const pauses of [
      [800, 1_600, 3_200],
      [800, 1_600],
    ]) {
      await clock.advance(6_000);
      server.lastWatch.end();
      await settlePromises();
      for (const pauseMs of pauses) {
        const lists = server.lists.length;
        server.lastWatch.refuse(failure("Unavailable"));
        await clock.advance(pauseMs - 1);
        expect(server.lists).toHaveLength(lists);
        await clock.advance(1);
        expect(server.lists).toHaveLength(lists + 1);
        server.lastList.answer({ resourceVersion: "20" });
        await settlePromises();
      }
      server.lastWatch.open();
      await settlePromises();
    }
  });

  it("the first list fails → is tried until it works", async () => {
    const { server, clock, versions } = await startListing();
    for (const pauseMs of [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]) {
      const before = server.lists.length;
      server.lastList.fail(failure("Unavailable"));
      await clock.advance(pauseMs - 1);
      expect(server.lists).toHaveLength(before);
      await clock.advance(1);
      expect(server.lists).toHaveLength(before + 1);
    }
    server.lastList.answer({ items: [object("a", 10)], resourceVersion: "20" });
    await settlePromises();
    expect(versions()).toEqual({ a: 10 });
  });

  it("the server asks for a longer wait → that wait", async () => {
    const { server, clock } = await startListing();
    server.lastList.fail(failure("Throttled", 7_000));
    await clock.advance(6_999);
    expect(server.lists).toHaveLength(1);
    await clock.advance(1);
    expect(server.lists).toHaveLength(2);
  });

  it("an object that cannot be read, an unknown type → the rest goes on", async () => {
    const { server, versions, clock } = await startListing();
    server.lastList.answer({
      items: [object("poison", 9), object("bad", 10, ""), object("a", 10)],
      resourceVersion: "20",
    });
    await settlePromises();
    expect(versions()).toEqual({ poison: 9, a: 10 });
    server.lastWatch.open();
    server.lastWatch.send(added("bad", 21, ""), { type: "NEWS", object: {} }, { type: "BOOKMARK", object: null });
    server.lastWatch.send(modified("poison", 22), modified("a", 23));
    await clock.advance(10_000);
    expect(versions()).toEqual({ poison: 22, a: 23 });
    expect(server.watches).toHaveLength(1);
  });

  for (const [name, answer] of [
    ["lists fail", (server: ScriptedListWatch) => server.lists.at(-1)?.fail(failure("Unavailable"))],
    ["watches are refused", (server: ScriptedListWatch) => server.watches.at(-1)?.refuse(failure("Unavailable"))],
    ["watches end at once", (server: ScriptedListWatch) => server.watches.at(-1)?.end()],
    ["watches answer 410 at once", (server: ScriptedListWatch) => server.watches.at(-1)?.end(failure("Expired"))],
    ["watches begin with an ERROR", (server: ScriptedListWatch) => server.watches.at(-1)?.send(errorEvent(500, ""))],
  ] as const) {
    it(`for good ${name} → a few requests a minute, for ever`, async () => {
      const { reflector, server, clock } = createReflector({ random: () => 0 });
      reflector.start();
      const perMinute: number[] = [];
      for (let minute = 0; minute < 20; minute += 1) {
        const before = server.calls;
        for (let second = 0; second < 60; second += 1) {
          answer(server);
          server.lists.at(-1)?.answer({ items: [object("a", 10)], resourceVersion: "20" });
          server.watches.at(-1)?.open();
          await clock.advance(1_000);
        }
        perMinute.push(server.calls - before);
      }
      expect(Math.max(...perMinute)).toBeLessThanOrEqual(20);
      expect(Math.min(...perMinute.slice(5))).toBeGreaterThanOrEqual(1);
      expect(Math.max(...perMinute.slice(5))).toBeLessThanOrEqual(10);
    });
  }
});

describe("silence", () => {
  it("no byte for 70 s → the watch is closed, and a list follows after a pause", async () => {
    const { server, clock } = await startWatching();
    server.lastWatch.send(modified("a", 30));
    await clock.advance(69_999);
    expect(server.lastWatch.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(server.lastWatch.signal.aborted).toBe(true);
    await clock.advance(800);
    expect([server.watches.length, server.lists.length]).toEqual([1, 2]);
  });

  it("a byte now and then, though no whole line → is no silence", async () => {
    const { server, clock, reflector } = await startWatching();
    for (let round = 0; round < 5; round += 1) {
      await clock.advance(60_000);
      server.lastWatch.onBytes();
    }
    expect(server.watches).toHaveLength(1);
    await clock.advance(5_000);
    expect(reflector.stats().silentForMs).toBe(5_000);
  });
});

describe("stopping", () => {
  const moments: readonly [string, (all: Awaited<ReturnType<typeof startWatching>>) => Promise<void> | void][] = [
    [
      "while opening a watch",
      async ({ server, clock }) => {
        await clock.advance(10_000);
        server.lastWatch.end();
        await settlePromises();
      },
    ],
    [
      "while pausing",
      async ({ server, clock }) => {
        server.lastWatch.send(errorEvent(410, "Expired"));
        await clock.advance(100);
      },
    ],
    [
      "while listing",
      async ({ server, clock }) => {
        server.lastWatch.send(errorEvent(410, "Expired"));
        await clock.advance(800);
      },
    ],
  ];
  for (const [name, reach] of moments) {
    it(`${name} → ends at once, opens nothing more, leaves no timer`, async () => {
      const all = await startWatching();
      await reach(all);
      const { server, clock, reflector } = all;
      const calls = server.calls;
      await reflector.stop();
      expect(clock.pendingTimers).toBe(0);
      server.lists.at(-1)?.answer({ resourceVersion: "20" });
      server.watches.at(-1)?.open();
      await clock.advance(3_600_000);
      expect(server.calls).toBe(calls);
      expect(reflector.stats().isWatching).toBe(false);
    });
  }
});

describe("a consistent list on demand", () => {
  it("during a watch → the watch is closed, the list replaces the cache, a new watch follows at once", async () => {
    const { reflector, server, versions, clock } = await startWatching();
    let isListed = false;
    const listed = reflector.listConsistently().then(() => {
      isListed = true;
    });
    await settlePromises();
    expect([server.lists.length, server.lastWatch.isClosed(), isListed]).toEqual([2, true, false]);
    server.lastList.answer({ items: [object("b", 30)], resourceVersion: "30" });
    await listed;
    await settlePromises();
    expect(versions()).toEqual({ b: 30 });
    expect([server.watches.length, server.lastWatch.resourceVersion]).toEqual([2, "30"]);
    server.lastWatch.open();
    await settlePromises();
    server.lastWatch.send(added("c", 31));
    await clock.advance(0);
    expect(versions()).toEqual({ b: 30, c: 31 });
  });

  it("during a list that began before → that one does not count, the next one does", async () => {
    const { reflector, server } = await startListing();
    let isListed = false;
    void reflector.listConsistently().then(() => {
      isListed = true;
    });
    server.lastList.answer({ resourceVersion: "20" });
    await settlePromises();
    expect([server.lists.length, server.watches.length, isListed]).toEqual([2, 0, false]);
    server.lastList.answer({ resourceVersion: "21" });
    await settlePromises();
    expect(isListed).toBe(true);
  });

  it("during the pause after a failure → listed at once; the list fails → rejected, and the reflector goes on", async () => {
    const { reflector, server, clock } = await startListing();
    server.lastList.fail(failure("Unavailable"));
    await settlePromises();
    const rejected = expect(reflector.listConsistently()).rejects.toMatchObject({ reason: "Forbidden" });
    await settlePromises();
    expect(server.lists).toHaveLength(2);
    server.lastList.fail(failure("Forbidden"));
    await rejected;
    await clock.advance(5_000);
    expect(server.lists).toHaveLength(3);
  });
});
