/** Tests lists without an end. */
import { expect, it } from "vitest";
import { OutOfSyncError } from "../../../../src/kubernetes/watch/list-watch.ts";
import { PageReader } from "../../../../src/kubernetes/watch/reflector-parts.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

it("a list without end → is given up", async () => {
  const clock = new FakeClock();
  let pages = 0;
  const list = async () => {
    pages += 1;
    if (pages > 20_000) throw new Error("it goes on and on");
    return { items: [], resourceVersion: "1", continueToken: `t${pages}` };
  };
  const parse = () => undefined;
  const reader = new PageReader({ listWatch: { list }, parse, clock, pageLimit: 2, pageTimeoutMs: 1_000, onPage() {} });
  await expect(reader.readAll(new AbortController().signal)).rejects.toBeInstanceOf(OutOfSyncError);
  expect(clock.pendingTimers).toBe(0);
});
