/** Tests which failed calls count as a failure of the whole control plane. */
import { expect, it } from "vitest";
import { ControlPlaneError, type ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";
import { PlaneHealth } from "../../../src/planes/plane-status.ts";
import { FakeClock } from "../../support/fake-clock.ts";

/** The health of a control plane, its calls, and the number of times that its status may have changed. */
function scene() {
  const clock = new FakeClock();
  const counted = { changes: 0 };
  const health = new PlaneHealth(clock, () => {
    counted.changes += 1;
  });
  const fail = (reason: ControlPlaneReason) =>
    health.noteCall(new ControlPlaneError(reason, `cannot list: ${reason}`, { effect: "NotApplied" }));
  const succeed = () => health.noteCall(undefined);
  return { clock, health, fail, succeed, counted };
}

it("one project fails while another one gets answers → nothing changes, however often", async () => {
  const { clock, health, fail, succeed, counted } = scene();
  succeed();
  for (let n = 0; n < 20; n += 1) {
    fail("ServerError");
    fail("TimedOut");
    succeed();
    await clock.advance(20_000);
  }
  expect(counted.changes).toBe(1);
  expect(health.state.currentError).toBeUndefined();
});

it("no answer for half a minute → failing, for one reason that stays, until the next answer", async () => {
  const { clock, health, fail, succeed, counted } = scene();
  for (const reason of ["TimedOut", "ServerError", "TimedOut", "Unavailable"] as const) {
    fail(reason);
    await clock.advance(15_000);
  }
  fail("ServerError");
  expect(health.state.currentError).toMatchObject({ reason: "TimedOut" });
  expect(counted.changes).toBe(1);
  succeed();
  expect(health.state.currentError).toBeUndefined();
});

it("the key is refused → failing at once, also while other calls time out; with another key it is not", () => {
  const { health, fail } = scene();
  fail("TimedOut");
  fail("Unauthorized");
  fail("TimedOut");
  expect(health.state).toMatchObject({ credentials: "Refused", currentError: { reason: "Unauthorized" } });
  health.forgetKey();
  expect(health.state).toEqual({ credentials: "Unknown", currentError: undefined });
});

it("the key is refused, then an answer about another thing → accepted", () => {
  const { health, fail } = scene();
  fail("Unauthorized");
  fail("NotFound");
  expect(health.state).toEqual({ credentials: "Accepted", currentError: undefined });
});
