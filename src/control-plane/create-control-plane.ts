/** The HTTP client of one control plane. */

import type { Clock } from "../domain/clock.ts";
import type {
  BranchObjects,
  ControlPlane,
  ControlPlaneObserver,
  EndpointList,
  Mutation,
  OperationPage,
} from "../domain/control-plane.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import type { Tracer } from "../domain/logger.ts";
import { HttpTransport } from "../http/transport.ts";
import { httpBranchObjects } from "./http-branch-objects.ts";
import { type Clean, createHttpCaller, type HttpCaller, undefinedIfAbsent } from "./http-caller.ts";
import type { KeySource } from "./key-source.ts";
import { parseServiceUrl, routes } from "./routes.ts";
import type { ListReport } from "./unreadable-objects.ts";
import {
  changesToWire,
  creationToWire,
  endpointFromWire,
  expectEach,
  mutationFromWire,
  operationFromWire,
  presentText,
  readAnswer,
  readEntries,
  UnusableContentError,
  wireEndpoint,
  wireEndpointAnswer,
  wireEndpointList,
  wireMutation,
  wireOperation,
  wireOperationAnswer,
  wireOperationList,
} from "./wire.ts";

/** What the client of one control plane needs. */
export interface ControlPlaneClientOptions {
  /** The base URL, which ends in `/v2`; see `parseServiceUrl`. */
  readonly baseUrl: string;
  readonly keys: KeySource;
  readonly clock: Clock;
  readonly observer: ControlPlaneObserver;
  /** The User-Agent header: `endpoint-operator/<version>`. */
  readonly userAgent: string;
  /** Records each call as a span. @default nothing is traced */
  readonly tracer?: Tracer | undefined;
  /** Receives the ids of listed objects that cannot be parsed. @default nothing is called */
  readonly onListed?: ListReport;
  /** The time limit of one read with all its pages, in milliseconds. @default 10000 */
  readonly readTimeoutMs?: number;
  /** The time limit of a whole write, in milliseconds. The lease must last at least as long. @default 8000 */
  readonly writeTimeoutMs?: number;
  /** The maximum size of an answer, in bytes. @default 16 MiB */
  readonly maxResponseBytes?: number;
  /**
   * The maximum number of connections for reads. A read that gets no answer keeps its connection, and must not delay
   * the reads of other projects. @default 256
   */
  readonly connections?: number;
  /** Whether the host name may lead to this machine or link. @default true */
  readonly mayBeNearby?: boolean | undefined;
  /** The leader fence. The client asks it right before it sends a write. @default every write is allowed */
  readonly fence?: LeaderFence;
}

/** The client of a control plane. The caller must close it. */
export interface ControlPlaneClient extends ControlPlane {
  /** Closes the kept connections. Reads in progress fail. */
  close(): Promise<void>;
}

/**
 * Makes the HTTP client of a control plane, with one API key.
 * @throws Error when the base URL is not valid; the message describes a valid one.
 * @see ControlPlane for what the calls guarantee
 */
export function createControlPlane(options: ControlPlaneClientOptions): ControlPlaneClient {
  const serviceUrl = parseServiceUrl(options.baseUrl);
  const { origin, pathname } = new URL(serviceUrl);
  const { clock, mayBeNearby, fence, onListed = () => {} } = options;
  const { maxResponseBytes = 16 * 1024 * 1024, connections = 256 } = options;
  const limits = { connectTimeoutMs: 5_000, maxResponseBytes, connections };
  const transport = new HttpTransport({ origin, clock, mayBeNearby, fence, ...limits });
  const { readTimeoutMs = 10_000, writeTimeoutMs = 8_000 } = options;
  const call = createHttpCaller({ ...options, transport, basePath: pathname, readTimeoutMs, writeTimeoutMs });
  return {
    serviceUrl,
    ...httpProjects(call, onListed),
    ...httpBranchObjects(call),
    close: () => transport.close(),
  };
}

/** A 404 about the project does not prove that an endpoint or operation is absent. */
const containers = ["Project"] as const;

/** Makes the calls for endpoints and operations. */
function httpProjects(call: HttpCaller, onListed: ListReport): Omit<ControlPlane, "serviceUrl" | keyof BranchObjects> {
  return {
    async listEndpoints(projectId) {
      const list = await listEndpoints(call, projectId);
      onListed(projectId, "endpoints", list.unreadableIds);
      return list;
    },
    getEndpoint: (projectId, endpointId) =>
      undefinedIfAbsent(
        call({
          route: routes.getEndpoint,
          ids: [projectId, endpointId],
          read({ body }) {
            const { endpoint } = readAnswer(body, wireEndpointAnswer);
            expectEach([endpoint], sameEndpoint(endpointId));
            return endpointFromWire(endpoint);
          },
        }),
        containers,
      ),
    async listOperations(projectId, page) {
      const list = await listOperations(call, projectId, page);
      // Older pages show operations that the operator has reported before.
      if (page.cursor === undefined) {
        onListed(projectId, "operations", list.unreadableIds);
      }
      return list;
    },
    getOperation: (projectId, operationId) =>
      undefinedIfAbsent(
        call({
          route: routes.getOperation,
          ids: [projectId, operationId],
          read({ body }, clean) {
            const { operation } = readAnswer(body, wireOperationAnswer);
            expectEach([operation], { field: "id", value: operationId, otherwise: "another operation" });
            return operationFromWire(operation, clean);
          },
        }),
        containers,
      ),
    createEndpoint: (projectId, creation) =>
      call({
        route: routes.createEndpoint,
        ids: [projectId],
        body: creationToWire(creation),
        read: ({ body }, clean) => readMutation(body, ofProject(projectId, "an endpoint"), clean),
      }),
    updateEndpoint: (projectId, endpointId, changes) =>
      call({
        route: routes.updateEndpoint,
        ids: [projectId, endpointId],
        body: changesToWire(changes),
        read: ({ body }, clean) => readMutation(body, sameEndpoint(endpointId), clean),
      }),
    changePower: (projectId, endpointId, action) =>
      call({
        route: action === "start" ? routes.startEndpoint : routes.suspendEndpoint,
        ids: [projectId, endpointId],
        read: ({ body }, clean) => readMutation(body, sameEndpoint(endpointId), clean),
      }),
    deleteEndpoint: (projectId, endpointId) =>
      undefinedIfAbsent(
        call({
          route: routes.deleteEndpoint,
          ids: [projectId, endpointId],
          read: ({ status, body }, clean) =>
            status === 204 ? undefined : readMutation(body, sameEndpoint(endpointId), clean),
        }),
        containers,
      ),
  };
}

function listEndpoints(call: HttpCaller, projectId: string): Promise<EndpointList> {
  return call({
    route: routes.listEndpoints,
    ids: [projectId],
    read({ body, dateMs }) {
      const { endpoints } = readAnswer(body, wireEndpointList);
      const { entries, unreadableIds, unreadableNames } = readEntries(endpoints, wireEndpoint);
      expectEach(entries, ofProject(projectId, "an endpoint"));
      return { endpoints: entries.map(endpointFromWire), unreadableIds, unreadableNames, serviceTimeMs: dateMs };
    },
  });
}

function listOperations(
  call: HttpCaller,
  projectId: string,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string },
): Promise<OperationPage> {
  return call({
    route: routes.listOperations,
    ids: [projectId],
    query: new URLSearchParams({ limit: String(limit), ...(cursor !== undefined && { cursor }) }).toString(),
    read({ body }, clean) {
      const { operations, pagination } = readAnswer(body, wireOperationList);
      if (operations.length > limit) {
        throw new UnusableContentError("more operations than it was asked for");
      }
      const { entries, unreadableIds } = readEntries(operations, wireOperation);
      expectEach(entries, ofProject(projectId, "an operation"));
      return {
        operations: entries.map((operation) => operationFromWire(operation, clean)),
        unreadableIds,
        // An empty page is the last one, whatever cursor it has.
        cursor: operations.length === 0 ? undefined : presentText(pagination?.cursor),
      };
    },
  });
}

/** The field of an endpoint that must have this value, and what the answer is about otherwise. */
interface EndpointExpectation {
  readonly field: "id" | "project_id";
  readonly value: string;
  readonly otherwise: string;
}

function ofProject(projectId: string, what: string): EndpointExpectation & { readonly field: "project_id" } {
  return { field: "project_id", value: projectId, otherwise: `${what} of another project` };
}

function sameEndpoint(endpointId: string): EndpointExpectation {
  return { field: "id", value: endpointId, otherwise: "another endpoint" };
}

function readMutation(body: Uint8Array, expected: EndpointExpectation, clean: Clean): Mutation {
  const mutation = readAnswer(body, wireMutation);
  expectEach([mutation.endpoint], expected);
  return mutationFromWire(mutation, clean);
}
