/** Tests which secrets are remembered, and for how long. */
import { expect, it } from "vitest";
import { RecentSecrets } from "../../../src/domain/without-secrets.ts";
import { FakeClock } from "../../support/fake-clock.ts";

it("a rotated key → remembered for an hour, then forgotten; keys in use and lasting ones stay", async () => {
  const clock = new FakeClock();
  const secrets = new RecentSecrets(clock, ["lasting"]);
  const known = () => ["lasting", "former-key", "present-key"].filter((secret) => secrets.forms().includes(secret));
  secrets.note("former-key");
  secrets.note("present-key");
  await clock.advance(3_599_999);
  secrets.note("present-key");
  expect(known()).toEqual(["lasting", "former-key", "present-key"]);
  await clock.advance(1);
  secrets.note("present-key");
  expect(known()).toEqual(["lasting", "present-key"]);
});

it("a key so short that it stands in any text → not remembered: a tenant chooses its own", () => {
  const secrets = new RecentSecrets(new FakeClock());
  secrets.note("orders");
  expect(secrets.forms()).toEqual([]);
});

it("a tenant stores one long key after the other → the memory stays bounded, and a key in use stays known", () => {
  const secrets = new RecentSecrets(new FakeClock());
  for (let round = 0; round < 300; round += 1) {
    secrets.note(`${round}-`.padEnd(4_096, "x"));
    secrets.note("key-in-use");
  }
  const forms = secrets.forms();
  expect(forms.reduce((sum, { length }) => sum + length, 0)).toBeLessThanOrEqual(4_000_000);
  expect(forms).toContain("key-in-use");
});
