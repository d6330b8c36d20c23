/** The consumption history: how long the computes of projects ran in the sandbox. */
import { z } from "zod";
import type { ProjectRecord } from "../../engine/records.ts";
import { dayOf, monthOf, type Span } from "../../engine/usage.ts";
import { givenTime, timeText } from "../codecs/codec.ts";
import { ApiError } from "../parts/errors.ts";
import { pageOf, pageQuery, queryInteger } from "../parts/lists.ts";
import type { PublicApi } from "./public-api.ts";

const historyQuery = pageQuery(100).extend({
  limit: queryInteger(1, 100).default(10),
  from: givenTime,
  to: givenTime,
  granularity: z.enum(["daily", "monthly"]),
  project_ids: z.union([z.string().max(8192), z.array(z.string().max(64)).max(100)]).optional(),
  org_id: z.string().max(64).optional(),
});

/** The maximum number of time frames (days or months) in an answer: the days of a year. */
const mostTimeframes = 366;

export function consumptionRoutes(api: PublicApi): void {
  const { engine } = api.parts;
  const historyOf = (project: ProjectRecord, timeframes: readonly Span[]) => ({
    project_id: project.id,
    periods: [
      {
        period_id: project.id,
        period_plan: project.plan,
        period_start: timeText(project.createdMs),
        consumption: timeframes.map((span) => {
          const { activeMs, unitMs } = engine.restores.usage({ projectId: project.id }, span);
          return {
            timeframe_start: timeText(span.fromMs),
            timeframe_end: timeText(span.toMs),
            active_time_seconds: Math.floor(activeMs / 1000),
            compute_time_seconds: Math.floor(unitMs / 1000),
            written_data_bytes: 0,
            synthetic_storage_size_bytes: 0,
          };
        }),
      },
    ],
  });
  api.play("getConsumptionHistoryPerProject", { query: historyQuery, isAccountWide: true }, ({ query }) => {
    const timeframes = timeframesOf(query);
    const ids = query.project_ids && [query.project_ids].flat().flatMap((id) => id.split(","));
    const projects = engine
      .projects()
      .filter(({ id, orgId }) => (ids?.includes(id) ?? true) && (query.org_id ?? orgId) === orgId);
    const { items, pagination } = pageOf(projects, query);
    return { projects: items.map((project) => historyOf(project, timeframes)), pagination };
  });
}

function timeframesOf({ from, to, granularity }: z.output<typeof historyQuery>): readonly Span[] {
  const spanOf = granularity === "daily" ? dayOf : monthOf;
  const toMs = Date.parse(to);
  const spans: Span[] = [];
  for (let span = spanOf(Date.parse(from)); span.fromMs < toMs; span = spanOf(span.toMs)) {
    spans.push(span);
    if (spans.length > mostTimeframes) throw new ApiError(400, `to: at most ${mostTimeframes} timeframes after from`);
  }
  if (spans.length === 0) throw new ApiError(400, "to: must be after from");
  return spans;
}
