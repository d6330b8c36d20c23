/** Tests the closable fence. */
import { expect, it } from "vitest";
import { ClosableFence } from "../../../src/domain/leader-fence.ts";

it("nothing behind it → open until it is closed", () => {
  const gate = new ClosableFence();
  expect(gate.mayStartEffect(8_000)).toBe(true);
  gate.close();
  expect(gate.mayStartEffect(0)).toBe(false);
});

it("a lease behind it → as open as that, and closed for good once closed", () => {
  let leftMs = 5_000;
  const gate = new ClosableFence({ mayStartEffect: (timeoutMs) => timeoutMs <= leftMs });
  expect([gate.mayStartEffect(8_000), gate.mayStartEffect(5_000)]).toEqual([false, true]);
  leftMs = 15_000;
  gate.close();
  expect(gate.mayStartEffect(0)).toBe(false);
});
