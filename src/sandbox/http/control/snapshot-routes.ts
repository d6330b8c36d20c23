/** Routes that export and import the whole state of the sandbox. */
import { z } from "zod";
import { endOfTimeMs } from "../../engine/clock.ts";
import { type StoreContent, storeContent } from "../../engine/records.ts";
import { ApiError } from "../parts/errors.ts";
import { longestStepMs } from "./clock-routes.ts";
import type { ControlApi } from "./control-api.ts";

const snapshotBody = z.object({
  /** The version of the format. It rises when the form of records changes. */
  version: z.literal(1),
  profile: z.enum(["seed", "public"]),
  content: storeContent,
});

const snapshotLimit = 64 * 1024 * 1024;

export function snapshotRoutes(control: ControlApi): void {
  const { engine, clock, restore } = control.parts;
  const profile = engine.profile.name;
  const taking = { summary: "Take a snapshot of everything that is stored", answer: snapshotBody };
  control.add("GET /snapshot", taking, () => ({ version: 1, profile, content: engine.snapshot() }));
  const putting = {
    summary: "Replace everything that is stored by a snapshot",
    bodyLimit: snapshotLimit,
    body: snapshotBody.extend({ profile: z.literal(profile, `this sandbox speaks ${profile}`) }),
  };
  control.add("PUT /snapshot", putting, ({ body }) => {
    const latestMs = latestTimeMs(body.content);
    if (latestMs > clock.nowMs() + longestStepMs) throw new ApiError(400, "content: is more than ten years ahead");
    if (latestMs > endOfTimeMs) throw new ApiError(400, "content: is later than the clock goes");
    restore(body.content);
    return {};
  });
}

function latestTimeMs({ projects, branches, endpoints, operations, roles, databases }: StoreContent): number {
  const updates = [...projects, ...branches, ...endpoints, ...operations, ...roles, ...databases].map(
    ({ createdMs, updatedMs }) => Math.max(createdMs, updatedMs),
  );
  const ends = operations.map(({ endsAtMs }) => endsAtMs);
  const uses = endpoints.map(({ lastActiveMs = 0 }) => lastActiveMs);
  return [...updates, ...ends, ...uses].reduce((latest, timeMs) => Math.max(latest, timeMs), 0);
}
