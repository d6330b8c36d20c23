import { beforeEach, describe, expect, it } from "vitest";
import type { ResourceKey } from "../../../src/domain/resource-store.ts";
import { CreateTurns } from "../../../src/reconcile/create-turns.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const place = { projectId: "p", branchId: "b", type: "ReadOnly" } as const;
const keyOf = (name: string): ResourceKey => ({ namespace: "shop", name });

let clock: FakeClock;
let woken: string[];
let turns: CreateTurns;
const take = (uid: string, at: Parameters<CreateTurns["tryTake"]>[0] = place) =>
  turns.tryTake(at, uid, keyOf(uid)).kind === "Ours";

beforeEach(() => {
  woken = [];
  clock = new FakeClock();
  turns = new CreateTurns({ clock, wake: ({ name }) => void woken.push(name) });
});

describe("the turn to create", () => {
  it("free → taken, and again by the same", () => {
    expect([take("a"), take("a")]).toEqual([true, true]);
  });

  it("taken → refused to others, who are woken when it is given back", () => {
    take("a");
    expect([take("b"), take("c")]).toEqual([false, false]);
    turns.release("a");
    expect(woken).toEqual(["b", "c"]);
    expect([take("c"), take("b")]).toEqual([true, false]);
  });

  it.each([{ branchId: "other" }, { type: "ReadWrite" as const }, { projectId: "other" }])(
    "another place %o → is free",
    (other) => {
      take("a");
      expect(take("b", { ...place, ...other })).toBe(true);
    },
  );

  it("one that waited gives back what it does not have, as after each pass → is woken all the same", () => {
    take("a");
    take("b");
    turns.release("b");
    turns.release("a");
    expect(woken).toEqual(["b"]);
  });

  it("the name has another uid by now → the turn of the dead is free, that of the living is kept", () => {
    turns.tryTake(place, "old", keyOf("orders"));
    take("b");
    turns.releaseGone(keyOf("orders"), "new");
    expect(woken).toEqual(["b"]);
    expect(turns.tryTake(place, "new", keyOf("orders")).kind).toBe("Ours");
    turns.releaseGone(keyOf("orders"), "new");
    expect(take("b")).toBe(false);
  });

  it("a wait over the turns of several → says for how long in all, and for the present one", async () => {
    const wait = (uid: string, name = uid) => turns.tryTake(place, uid, keyOf(name));
    take("a");
    wait("b");
    await clock.advance(3_000);
    expect(wait("b")).toEqual({ kind: "Waiting", waitedMs: 3_000, stillMs: 3_000 });
    expect(wait("c")).toEqual({ kind: "Waiting", waitedMs: 0, stillMs: 0 });
    turns.release("a");
    take("c");
    await clock.advance(1_000);
    expect(wait("b")).toEqual({ kind: "Waiting", waitedMs: 4_000, stillMs: 1_000 });
    turns.releaseGone(keyOf("b"), "b");
    expect(wait("b")).toMatchObject({ waitedMs: 4_000 });
    turns.stopWaiting(keyOf("b"));
    expect(wait("b")).toMatchObject({ waitedMs: 0 });
    await clock.advance(1_000);
    turns.releaseGone(keyOf("b"), "another");
    expect(wait("b")).toMatchObject({ waitedMs: 0 });
  });

  it("the name is gone → its turn is free", () => {
    take("a");
    turns.releaseGone(keyOf("a"), undefined);
    expect(take("b")).toBe(true);
  });
});
