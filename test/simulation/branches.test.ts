/** Tests by simulation that a preview (branch, endpoint and access) keeps its promises under faults. */
import { beforeAll, describe, expect, test } from "vitest";
import { accessFaults } from "./workloads/access-faults.ts";
import { type PreviewRun, runPreview } from "./workloads/branch-faults.ts";

describe("a DatabaseBranch with a ComputeEndpoint and a DatabaseAccess", () => {
  let faultless: PreviewRun;

  beforeAll(async () => {
    faultless = await runPreview();
  });

  test("no fault → all Ready, one reset, and nothing left after the deletion", () => {
    const { problems, world } = faultless;
    expect(problems).toEqual([]);
    const asked = (purpose: string) =>
      world.log.entries.filter(({ text }) => text === `asks the control plane to ${purpose}`).length;
    expect([asked("create the branch"), asked("reset the branch to its parent"), asked("delete the branch")]).toEqual([
      1, 1, 1,
    ]);
  });

  test.each(Object.entries(accessFaults))(
    "%s at every effect → one branch, deleted whole, and no password of the parent",
    async (_name, fault) => {
      const { effects } = faultless;
      expect(effects.length).toBeGreaterThan(20);
      const broken: string[] = [];
      for (const key of effects) {
        const { problems } = await runPreview({ key, fault });
        broken.push(...problems.map((problem) => `${key}: ${problem}`));
      }
      expect(broken).toEqual([]);
    },
  );
});
