import { expect, it } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import { asked, key, ReconcilerWorld } from "./reconciler-world.ts";

it("the cache is behind our own last write → the pass acts on what the store says is current", async () => {
  const world = new ReconcilerWorld();
  const old = world.store.put(asked());
  await world.operator.run(key);
  const made = world.made();
  expect(made).toHaveLength(1);
  // The cache has seen none of it, ownership included: by that, an endpoint would have to be made.
  const current = world.store.get(key);
  world.store.get = () => old;
  world.store.current = async () => current;
  const writes = world.store.writes.length;
  await world.operator.pass(key);
  expect([world.made(), world.store.writes.length]).toEqual([made, writes]);
});

it("nobody knows what our last write has left → nothing is done, and it is tried again", async () => {
  const world = new ReconcilerWorld();
  world.store.put(asked());
  world.store.current = () => Promise.reject(new KubernetesError("TimedOut", "no answer in time"));
  expect(await world.operator.pass(key)).toEqual({ kind: "Retry" });
  expect([world.made(), world.store.writes]).toEqual([[], []]);
});
