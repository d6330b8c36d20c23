/** Runs all named cases of the simulation. */
import { describe, expect, test } from "vitest";
import { namedCases as cases } from "./cases/all-cases.ts";
import { knownFailures } from "./known-failures.ts";
import { run } from "./run/run.ts";

describe("each defect that was reproduced, as a short run", () => {
  test.for(cases.map((each) => [each.id, each.name, each] as const))(
    "%s: %s",
    async ([, , { id, plan, judge, why }]) => {
      const { world, violations } = await run(plan);
      const problems = [
        ...violations.map(({ promise, text }) => `${promise}: ${text}`),
        ...(judge?.(world, plan) ?? []),
      ];
      if (knownFailures.some((known) => known.cases?.includes(id))) {
        expect(problems, `${id} is mended: take it out of known-failures.ts`).not.toEqual([]);
      } else {
        expect(problems, why).toEqual([]);
      }
    },
  );

  test("known failures → each names cases that exist", () => {
    const ids = cases.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(knownFailures.flatMap(({ cases: named = [] }) => named).filter((id) => !ids.includes(id))).toEqual([]);
  });
});
