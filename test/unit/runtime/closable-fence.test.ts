/** Tests the closable fence. */
import { expect, it } from "vitest";
import { ClosableFence } from "../../../src/domain/leader-fence.ts";

it("a lease behind it → as open as that, and closed for good once closed", () => {
  let leftMs = 5_000;
  const fence = new ClosableFence({ mayStartEffect: (timeoutMs) => timeoutMs <= leftMs });
  expect([fence.mayStartEffect(8_000), fence.mayStartEffect(5_000)]).toEqual([false, true]);
  leftMs = 15_000;
  fence.close();
  expect(fence.mayStartEffect(0)).toBe(false);
});
