/** Chooses and makes the page that a client asks for. */
import type { OpenApiDocument } from "../http/openapi/openapi-types.ts";
import type { ServerParts } from "../http/parts/server-parts.ts";
import { connectView } from "./connect-view.ts";
import { faultsView } from "./faults-view.ts";
import type { FrameData, View } from "./layout-view.ts";
import type { PageQuery } from "./page-query.ts";
import { observeProjects } from "./projects-data.ts";
import { projectsView } from "./projects-view.ts";
import { referenceView } from "./reference-view.ts";
import { observeRequests, requestsView } from "./requests-view.ts";

/** A page as it is at one moment. */
export interface Page {
  readonly view: View;
  readonly frame: FrameData;
  /**
   * Whether the requested project exists. If it does not, the page is sent with the status 404. Always `true` for pages
   * without a project.
   */
  readonly isFound: boolean;
}

/** The values for a page that are not in the sandbox's state. */
export interface PageContext {
  /** The address of the sandbox in the browser, such as `http://127.0.0.1:8787`. */
  readonly origin: string;
  /** The OpenAPI document, for the page of the API reference. Other pages and updates do not need it. */
  readonly document?: OpenApiDocument | undefined;
}

/** Reads the sandbox's state and makes the page from it. */
export function observePage(parts: ServerParts, query: PageQuery, { origin, document }: PageContext): Page {
  const { engine, clock, faults, requestLog } = parts;
  const failures = engine.plannedFailures();
  const frame = (): FrameData => ({
    profile: engine.profile.name,
    clock: clock.state(),
    nextDueMs: engine.nextDueMs(),
    faultCount: faults.list().length + failures.length,
  });
  switch (query.page) {
    case "projects": {
      const data = observeProjects(engine, query);
      const isFound = query.projectId === undefined || data.details !== undefined;
      return { view: projectsView(data, query), frame: frame(), isFound };
    }
    case "requests":
      return { view: requestsView(observeRequests(requestLog, query), query), frame: frame(), isFound: true };
    case "faults":
      return { view: faultsView({ faults: faults.list(), failures }, query), frame: frame(), isFound: true };
    case "connect": {
      const projectId = engine.projects()[0]?.id;
      const view = connectView({ origin, entrances: parts.entrances(), projectId });
      return { view, frame: frame(), isFound: true };
    }
    case "reference":
      return { view: referenceView(document), frame: frame(), isFound: true };
  }
}
