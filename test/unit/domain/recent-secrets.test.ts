/** Tests which secrets are remembered. */
import { expect, it } from "vitest";
import { RecentSecrets } from "../../../src/domain/without-secrets.ts";

it("a key so short that it stands in any text → not remembered: a tenant chooses its own", () => {
  const secrets = new RecentSecrets();
  secrets.note("orders");
  expect(secrets.forms()).toEqual([]);
});

it("a tenant stores one key after the other → a thousand are remembered; a key in use and a lasting one stay", () => {
  const secrets = new RecentSecrets(["lasting"]);
  for (let round = 0; round < 3_000; round += 1) {
    secrets.note(`other-key-${round}`);
    secrets.note("key-in-use");
  }
  const forms = secrets.forms();
  expect(forms).toHaveLength(1_001);
  expect(forms).toEqual(expect.arrayContaining(["lasting", "key-in-use", "other-key-2999"]));
});
