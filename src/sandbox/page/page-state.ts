/** Makes the JSON that one page shows. */
import { hash } from "node:crypto";
import type { ClockState } from "../engine/clock.ts";
import { operationActions } from "../engine/records.ts";
import type { RequestLog } from "../http/parts/request-log.ts";
import type { ServerParts } from "../http/parts/server-parts.ts";
import { observeProjects, type PageQuery } from "./projects-data.ts";

/** The maximum number of requests on the page. */
const mostRequests = 100;

/** The answer to a page: the clock, and the state if its version is another. */
export interface PageAnswer {
  readonly clock: ClockState;
  readonly version: string;
  readonly state?: object;
}

export function pageAnswer(parts: ServerParts, query: PageQuery): PageAnswer {
  const { engine, faults, clock, computes } = parts;
  const content = contentOf(parts, query);
  const { nowMs, ...pace } = clock.state();
  const faultCount = faults.list().length + engine.plannedFailures().length;
  const frame = { profile: engine.profile.name, clock: pace, nextDueMs: engine.nextDueMs(), faultCount };
  const state = { ...content, frame, hasComputes: computes !== undefined };
  const version = hash("sha256", JSON.stringify(state), "base64url");
  const answer = { clock: { ...pace, nowMs }, version };
  return version === query.version ? answer : { ...answer, state };
}

function contentOf({ engine, faults, requestLog, entrances }: ServerParts, query: PageQuery): object {
  switch (query.page) {
    case "requests":
      return observeRequests(requestLog, query.search);
    case "faults":
      return { faults: faults.list(), failures: engine.plannedFailures(), actions: operationActions };
    case "connect":
      return { projectId: engine.projects()[0]?.id, entrances: entrances() };
    case "reference":
      return {};
    default:
      return observeProjects(engine, query);
  }
}

function observeRequests(log: RequestLog, search: string): object {
  const all = log.since(0);
  const found = all.filter(({ method, path, key, status, fault }) =>
    `${method} ${path} ${key ?? ""} ${status ?? "no answer"} ${fault ?? ""}`.toLowerCase().includes(search),
  );
  const requests = found.slice(-mostRequests).reverse();
  return {
    // The page's framework uses `key` for itself.
    requests: requests.map(({ key: keyName, ...entry }) => ({ ...entry, keyName })),
    moreRequests: Math.max(0, found.length - mostRequests),
    total: log.counts().reduce((sum, { count }) => sum + count, 0),
  };
}
