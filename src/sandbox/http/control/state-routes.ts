/** Routes for planned failures, the list lag, the request log and the reset. */
import { z } from "zod";
import { operationActions } from "../../engine/records.ts";
import { timeText } from "../codecs/codec.ts";
import { ApiError } from "../parts/errors.ts";
import { queryInteger } from "../parts/lists.ts";
import type { ControlApi } from "./control-api.ts";

const failNextBody = z.object({
  action: z.enum(operationActions),
  endpointId: z.string().optional(),
  times: z.int().min(1).max(1_000_000).default(1),
  error: z.string().default("a failure was asked for"),
});

const plannedBody = failNextBody.extend({ id: z.string(), times: z.int(), error: z.string() });

const lagBody = z.object({ milliseconds: z.int().min(0).max(3_600_000) });

const entryBody = z.object({
  sequence: z.int(),
  time: z.string(),
  method: z.string(),
  path: z.string(),
  route: z.string().optional(),
  key: z.string().optional(),
  status: z.int().optional(),
  fault: z.string().optional(),
  milliseconds: z.number().optional(),
  body: z.string().optional(),
  error: z.string().optional(),
});

const countBody = z.object({ method: z.string(), route: z.string(), count: z.int() });

export function stateRoutes(control: ControlApi): void {
  const { engine, requestLog, reset } = control.parts;
  const planning = { summary: "Plan failures of operations that start from now on", body: failNextBody };
  control.add("POST /operations/fail-next", planning, ({ body }) => {
    engine.failNext({ endpointId: undefined, ...body });
    return {};
  });
  const plannedList = z.object({ failures: z.array(plannedBody) });
  control.add("GET /operations/fail-next", { summary: "List the planned failures", answer: plannedList }, () => ({
    failures: engine.plannedFailures(),
  }));
  const removing = { summary: "Remove a planned failure", answer: z.object({ removed: z.int() }) };
  control.add("DELETE /operations/fail-next/{id}", removing, ({ ids }) => {
    if (!engine.cancelFailure(ids.id)) throw new ApiError(404, "no such failure is planned, or it was used up");
    return { removed: 1 };
  });
  const lagging = {
    summary: "Make lists of endpoints and operations show an earlier state",
    body: lagBody,
    answer: lagBody,
  };
  control.add("PUT /lists/lag", lagging, ({ body }) => {
    engine.setListLag(body.milliseconds);
    return body;
  });
  const reading = {
    summary: "Read the log of requests",
    query: z.object({ since: queryInteger(0, Number.MAX_SAFE_INTEGER).default(0) }),
    answer: z.object({ requests: z.array(entryBody) }),
  };
  control.add("GET /requests", reading, ({ query }) => ({
    requests: requestLog.since(query.since).map(({ atMs, ...entry }) => ({ ...entry, time: timeText(atMs) })),
  }));
  const counting = {
    summary: "Count the requests by method and route",
    answer: z.object({ counts: z.array(countBody) }),
  };
  control.add("GET /requests/counts", counting, () => ({ counts: requestLog.counts() }));
  control.add("POST /reset", { summary: "Go back to the start" }, () => {
    reset();
    return {};
  });
}
