/** Tests by random histories that every operation is counted exactly once. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LogModel, type LogNature, type Move } from "./log-model.ts";

const owners = 2;
const [runs, timeout] = process.env.LONG === "1" ? [4_000, 600_000] : [60, 30_000];

const nature = fc.record({ isCoarse: fc.boolean(), pageSize: fc.constantFrom(3, 5, 50) });

const begin = fc.record({
  kind: fc.constant("Begin" as const),
  // There is one endpoint more than resources. Its operations belong to no resource.
  owner: fc.nat(owners),
  action: fc.constantFrom("start_compute", "suspend_compute", "apply_config", "check_availability"),
  machineMs: fc.integer({ min: -3_000, max: 3_000 }),
});
const end = fc.record({
  kind: fc.constant("End" as const),
  nth: fc.nat(9),
  status: fc.constantFrom("finished", "failed", "skipped", "cancelled"),
});
const retry = fc.record({ kind: fc.constant("Retry" as const), nth: fc.nat(9) });
const pass = fc.record({ kind: fc.constant("Pass" as const), seconds: fc.nat(90) });
const restart = fc.record({ kind: fc.constant("Restart" as const) });
const look = fc.record({
  kind: fc.constant("Look" as const),
  lag: fc.oneof(fc.constant(0), fc.nat(6)),
  lost: fc.integer({ min: -2, max: owners - 1 }),
  failsById: fc.boolean(),
});
const moves = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: begin },
    { weight: 5, arbitrary: end },
    { weight: 6, arbitrary: look },
    { weight: 2, arbitrary: pass },
    { weight: 1, arbitrary: retry },
    { weight: 2, arbitrary: restart },
  ),
  { maxLength: 120, size: "max" },
);

/** The operator has created both endpoints and reconciled once. Then the random steps happen. */
async function modelAfter(chosen: readonly Move[], given: LogNature): Promise<LogModel> {
  const model = new LogModel(given, owners);
  await model.look({ lag: 0, lost: -1, failsById: false });
  for (const move of chosen) {
    await model.make(move);
  }
  await model.settle();
  return model;
}

const story = ({ log }: LogModel) =>
  log.map(({ id, endpointId, status, createdTime }) => `${id} ${endpointId} ${status} ${createdTime}`).join("\n");

describe("random histories, lags of the list, restarts, lost status writes, failing reads by id", () => {
  it("the control plane's machines differ by seconds → each ended operation is counted exactly once", {
    timeout,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(moves, nature, async (chosen, given) => {
        const model = await modelAfter(chosen, given);
        expect([...model.counted].sort(), story(model)).toEqual([...model.truth].sort());
        expect(model.gaps).toEqual([]);
      }),
      { numRuns: runs },
    );
  });
});
