/** Tests the memory of deleted objects. */
import { expect, it } from "vitest";
import { Tombstones } from "../../../../src/kubernetes/watch/tombstones.ts";

const dead = (uid: string, resourceVersion = "10") => ({ key: { namespace: "n", name: uid }, uid, resourceVersion });

it("more deaths than are remembered → pruned, the oldest are forgotten first", () => {
  const tombstones = new Tombstones();
  for (let count = 0; count <= 10_001; count += 1) tombstones.add(dead(`u${count}`));
  tombstones.add(dead("u0"));
  tombstones.prune();
  const isCovered = ["u0", "u1", "u2", "u3", "u10001"].map((uid) => tombstones.covers(dead(uid)));
  expect(isCovered, "u0 was heard of again").toEqual([true, false, false, true, true]);
});

it("heard of again with an older version → the newer one counts", () => {
  const tombstones = new Tombstones();
  tombstones.add(dead("a", "12"));
  tombstones.add(dead("a", "9"));
  expect(["11", "12", "13"].map((version) => tombstones.covers(dead("a", version)))).toEqual([true, true, false]);
});
