/** Tests which keys logs leave out. */
import { expect, it } from "vitest";
import { RecentSecrets } from "../../../src/telemetry/pino-logger.ts";
import { FakeClock } from "../../support/fake-clock.ts";

it("a rotated key → left out for an hour, then forgotten; keys in use and lasting ones stay", async () => {
  const clock = new FakeClock();
  const secrets = new RecentSecrets(clock, ["lasting"]);
  secrets.note("former");
  secrets.note("present");
  await clock.advance(3_599_999);
  secrets.note("present");
  expect(secrets.values()).toEqual(["lasting", "former", "present"]);
  await clock.advance(1);
  secrets.note("present");
  expect(secrets.values()).toEqual(["lasting", "present"]);
});
