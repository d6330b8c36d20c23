/** Routes that read and change the sandbox's clock. */
import { z } from "zod";
import { timeText } from "../codecs/codec.ts";
import { ApiError } from "../parts/errors.ts";
import type { ControlApi } from "./control-api.ts";

/** Ten years. The sandbox carries out everything that becomes due within the step. */
export const longestStepMs = 10 * 365 * 86_400_000;

const clockBody = z.object({ mode: z.enum(["real", "scaled", "stepped"]), scale: z.number(), now: z.string() });

const clockChange = z.object({
  mode: z.enum(["real", "scaled", "stepped"]).optional(),
  scale: z.number().positive().max(1_000_000).optional(),
  now: z.iso.datetime().optional(),
});

export function clockRoutes(control: ControlApi): void {
  const { clock, engine, pacemaker } = control.parts;
  const view = (): z.output<typeof clockBody> => {
    const { mode, scale, nowMs } = clock.state();
    return { mode, scale, now: timeText(nowMs) };
  };
  /** Everything that is due by the new time is carried out before the answer. */
  const settled = (change: () => void): z.output<typeof clockBody> => {
    try {
      change();
    } catch (error) {
      if (error instanceof RangeError) throw new ApiError(400, error.message);
      throw error;
    }
    engine.advance();
    pacemaker.lookAgain();
    return view();
  };
  control.add("GET /clock", { summary: "Read the clock", answer: clockBody }, view);
  const change = { summary: "Change how time runs", body: clockChange, answer: clockBody };
  control.add("PUT /clock", change, ({ body: { mode, scale, now } }) => {
    const nowMs = now === undefined ? undefined : Date.parse(now);
    if (nowMs !== undefined && nowMs > clock.nowMs() + longestStepMs) {
      throw new ApiError(400, "now: is more than ten years ahead");
    }
    return settled(() => clock.set({ mode, scale, nowMs }));
  });
  const step = z.object({ milliseconds: z.int().min(0).max(longestStepMs) });
  control.add("POST /clock/advance", { summary: "Jump forward", body: step, answer: clockBody }, ({ body }) =>
    settled(() => clock.advance(body.milliseconds)),
  );
}
