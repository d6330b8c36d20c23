/** Tests by simulation that a DatabaseAccess keeps its promises under faults. */
import { beforeAll, describe, expect, test } from "vitest";
import { type AccessRun, accessFaults, runAccess } from "./workloads/access-faults.ts";

/**
 * The longest time for which the Secret may hold a password that no longer works. A call without an answer takes 8 s. A
 * process that died starts again after 3 s, lists, and reconciles once.
 */
const longestWrongMs = { usual: 10_000, lateReset: 30_000 } as const;

describe("a DatabaseAccess beside a ComputeEndpoint of one project", () => {
  let faultless: AccessRun;

  beforeAll(async () => {
    faultless = await runAccess();
  });

  test("no fault → role, database, Secret, one rotation, and nothing left after the deletion", () => {
    const { problems, effects, longestWrongMs: wrongMs } = faultless;
    expect(problems).toEqual([]);
    expect(wrongMs).toBeLessThan(1_000);
    for (const what of ["POST role", "POST database", "POST password", "create Secret", "DELETE role"]) {
      expect(
        effects.filter((key) => key.startsWith(what)),
        what,
      ).toHaveLength(1);
    }
  });

  test.each(Object.entries(accessFaults))(
    "%s at every effect → created once, deleted whole, and the Secret works within one reconcile",
    async (name, fault) => {
      const { effects } = faultless;
      expect(effects.length).toBeGreaterThan(10);
      const broken: string[] = [];
      for (const key of effects) {
        const { problems, longestWrongMs: wrongMs } = await runAccess({ key, fault });
        const isLateReset = name === "late apply" && key.startsWith("POST password");
        const limitMs = isLateReset ? longestWrongMs.lateReset : longestWrongMs.usual;
        const late = wrongMs > limitMs ? [`the Secret was wrong for ${wrongMs} ms`] : [];
        broken.push(...[...problems, ...late].map((problem) => `${key}: ${problem}`));
      }
      expect(broken).toEqual([]);
    },
  );
});
