import { describe, expect, it } from "vitest";
import type { Observation } from "../../../src/plan/observation.ts";
import { endedAtLast, operationLogAfter } from "../../../src/plan/operation-log.ts";
import type { Pass } from "../../../src/plan/pass.ts";
import { endpoint, logBegun, operation, otherBranch, owned, ownership, timeAt } from "./builders.ts";

function passOf(observation: Observation, plan: Pass["plan"] = undefined): Pass {
  return { local: observation, observation, plan, outcome: { kind: "Done" } };
}

const ids = (ended: readonly { readonly operation: { readonly id: string } }[]) =>
  ended.map(({ operation: { id } }) => id);

describe("an operation that is known and that no list shows yet", () => {
  const answered = operation({ id: "op-new", createdTime: timeAt(-1_000) });
  const given = owned({}, { operations: [answered], newestListedTime: timeAt(-60_000) });

  it("its resource lives on → is left for a later reading", () => {
    expect(ids(operationLogAfter(passOf(given), ownership()).ended)).toEqual([]);
  });

  it("its resource goes → is counted now, for nobody will look again", () => {
    expect(ids(endedAtLast(passOf(given, { kind: "RemoveFinalizer", cause: "Gone", abandoned: undefined })))).toEqual([
      "op-new",
    ]);
  });

  it("its resource goes without a look at the service → nothing is counted", () => {
    expect(endedAtLast({ ...passOf(given), observation: undefined })).toEqual([]);
  });
});

describe("a failure that status shows already", () => {
  const failed = operation({ status: "failed", failuresCount: 1 });
  const first = operationLogAfter(
    passOf(owned({}, { operations: [failed], status: { ownership: undefined, operationWatermark: undefined } }), {
      kind: "RecordOwnership",
      ...{ ownership: ownership(), endpoint: endpoint(), acknowledgedHash: undefined },
    }),
    ownership(),
  );

  it("seen in the pass that began the log → is news in the one that counts it", () => {
    expect(first.failedActions).toEqual([]);
    const status = { operations: first.operations, operationWatermark: first.watermark };
    const second = operationLogAfter(passOf(owned({}, { operations: [failed], status })), ownership());
    expect(ids(second.ended)).toEqual([failed.id]);
    expect(second.failedActions).toMatchObject([{ operationId: failed.id }]);
  });
});

describe("the endpoint is seen on another branch", () => {
  it("nothing else has changed → the watermark follows, from what the lists have shown", () => {
    const status = { operationWatermark: logBegun() };
    const given = owned({}, { endpoint: { branchId: otherBranch }, newestListedTime: timeAt(-5_000), status });
    const { watermark } = operationLogAfter(passOf(given), ownership());
    expect(watermark?.branch).toEqual({ id: otherBranch, sinceTime: timeAt(-5_000) });
  });
});
