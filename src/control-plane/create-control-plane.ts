/** The HTTP client of one control plane. */
import type { BranchObjects } from "../domain/branch-objects.ts";
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane, EndpointList, Mutation, OperationPage, PowerAction } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ControlPlaneObserver } from "../domain/control-plane-requests.ts";
import type { EndpointChanges, EndpointCreation, ObservedEndpoint } from "../domain/endpoint.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import type { Operation } from "../domain/operation.ts";
import { createHttpTransport, type HttpTransport } from "../http/transport.ts";
import { httpBranchObjects } from "./http-branch-objects.ts";
import { createHttpCaller, type HttpCaller } from "./http-caller.ts";
import type { KeySource } from "./key-source.ts";
import { expectEach, mapReading, type Reading, readAnswer, readEntries } from "./read-answer.ts";
import { parseServiceUrl, routes } from "./routes.ts";
import {
  type WireMutation,
  wireEndpoint,
  wireEndpointAnswer,
  wireEndpointList,
  wireMutation,
  wireOperation,
  wireOperationAnswer,
  wireOperationList,
} from "./wire.ts";
import {
  changesToWire,
  creationToWire,
  endpointFromWire,
  mutationFromWire,
  operationFromWire,
  presentText,
} from "./wire-mapping.ts";

/** What the client of one control plane needs. */
export interface ControlPlaneClientOptions {
  /** The base URL, which ends in `/v2`; see `parseServiceUrl`. */
  readonly baseUrl: string;
  readonly keys: KeySource;
  readonly clock: Clock;
  readonly observer: ControlPlaneObserver;
  /** The User-Agent header: `endpoint-operator/<version>`. */
  readonly userAgent: string;
  /** The time limit of one read with all its pages, in milliseconds. @default 10000 */
  readonly readTimeoutMs?: number;
  /** The time limit of a whole write, in milliseconds. The lease must last at least as long. @default 8000 */
  readonly writeTimeoutMs?: number;
  /** The time limit for opening a connection, in milliseconds. @default 5000 */
  readonly connectTimeoutMs?: number;
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
  /** The client for roles and databases. It shares connections and API key with this client. */
  readonly objects: BranchObjects;
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
  const { keys, clock, observer, userAgent } = options;
  const transport = createHttpTransport({
    origin,
    clock,
    connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
    maxResponseBytes: options.maxResponseBytes ?? 16 * 1024 * 1024,
    connections: options.connections ?? 256,
    mayBeNearby: options.mayBeNearby,
    fence: options.fence,
  });
  const call = createHttpCaller({
    transport,
    basePath: pathname,
    keys,
    clock,
    observer,
    userAgent,
    readTimeoutMs: options.readTimeoutMs ?? 10_000,
    writeTimeoutMs: options.writeTimeoutMs ?? 8_000,
  });
  return new HttpControlPlane(serviceUrl, call, transport);
}

const strangeEndpoint = "an endpoint of another project";

class HttpControlPlane implements ControlPlaneClient {
  readonly serviceUrl: string;
  readonly objects: BranchObjects;
  readonly #call: HttpCaller;
  readonly #transport: HttpTransport;

  constructor(serviceUrl: string, call: HttpCaller, transport: HttpTransport) {
    this.serviceUrl = serviceUrl;
    this.#call = call;
    this.objects = httpBranchObjects(call);
    this.#transport = transport;
  }

  listEndpoints(projectId: string): Promise<EndpointList> {
    return this.#call({
      route: routes.listEndpoints,
      ids: [projectId],
      read: ({ body, dateMs }) => {
        const answer = readAnswer(body, wireEndpointList);
        const list = mapReading(answer, ({ endpoints }) => readEntries(endpoints, wireEndpoint));
        const ofProject = expectEach(list, ({ entries }) => entries, {
          field: "project_id",
          value: projectId,
          otherwise: strangeEndpoint,
        });
        return mapReading(ofProject, ({ entries, unreadableIds, unreadableNames }) => ({
          endpoints: entries.map(endpointFromWire),
          unreadableIds,
          unreadableNames,
          serviceTimeMs: dateMs,
        }));
      },
    });
  }

  getEndpoint(projectId: string, endpointId: string): Promise<ObservedEndpoint | undefined> {
    const found = this.#call({
      route: routes.getEndpoint,
      ids: [projectId, endpointId],
      read: ({ body }) => {
        const answer = expectEach(readAnswer(body, wireEndpointAnswer), ({ endpoint }) => [endpoint], {
          field: "id",
          value: endpointId,
          otherwise: "another endpoint",
        });
        return mapReading(answer, ({ endpoint }) => endpointFromWire(endpoint));
      },
    });
    return undefinedIfAbsent(found);
  }

  listOperations(
    projectId: string,
    page: { readonly limit: number; readonly cursor?: string },
  ): Promise<OperationPage> {
    const query = new URLSearchParams({ limit: String(page.limit) });
    if (page.cursor !== undefined) {
      query.set("cursor", page.cursor);
    }
    return this.#call({
      route: routes.listOperations,
      ids: [projectId],
      query: query.toString(),
      read: ({ body }, clean) => {
        const answer = readAnswer(body, wireOperationList);
        if (answer.isReadable && answer.value.operations.length > page.limit) {
          return { isReadable: false, what: "more operations than it was asked for" };
        }
        const list = mapReading(answer, (wire) => ({ wire, ...readEntries(wire.operations, wireOperation) }));
        const ofProject = expectEach(list, ({ entries }) => entries, {
          field: "project_id",
          value: projectId,
          otherwise: "an operation of another project",
        });
        return mapReading(ofProject, ({ wire, entries, unreadableIds }) => ({
          operations: entries.map((operation) => operationFromWire(operation, clean)),
          unreadableIds,
          // An empty page is the last one, whatever cursor it has.
          cursor: wire.operations.length === 0 ? undefined : presentText(wire.pagination?.cursor),
        }));
      },
    });
  }

  getOperation(projectId: string, operationId: string): Promise<Operation | undefined> {
    const found = this.#call({
      route: routes.getOperation,
      ids: [projectId, operationId],
      read: ({ body }, clean) => {
        const answer = expectEach(readAnswer(body, wireOperationAnswer), ({ operation }) => [operation], {
          field: "id",
          value: operationId,
          otherwise: "another operation",
        });
        return mapReading(answer, ({ operation }) => operationFromWire(operation, clean));
      },
    });
    return undefinedIfAbsent(found);
  }

  createEndpoint(projectId: string, creation: EndpointCreation): Promise<Mutation> {
    return this.#call({
      route: routes.createEndpoint,
      ids: [projectId],
      body: creationToWire(creation),
      read: ({ body }, clean) => {
        const expected = { field: "project_id", value: projectId, otherwise: strangeEndpoint } as const;
        return readMutation(body, expected, clean);
      },
    });
  }

  updateEndpoint(projectId: string, endpointId: string, changes: EndpointChanges): Promise<Mutation> {
    return this.#call({
      route: routes.updateEndpoint,
      ids: [projectId, endpointId],
      body: changesToWire(changes),
      read: ({ body }, clean) => readMutation(body, sameEndpoint(endpointId), clean),
    });
  }

  changePower(projectId: string, endpointId: string, action: PowerAction): Promise<Mutation> {
    return this.#call({
      route: action === "start" ? routes.startEndpoint : routes.suspendEndpoint,
      ids: [projectId, endpointId],
      read: ({ body }, clean) => readMutation(body, sameEndpoint(endpointId), clean),
    });
  }

  deleteEndpoint(projectId: string, endpointId: string): Promise<Mutation | undefined> {
    const deleted = this.#call<Mutation | undefined>({
      route: routes.deleteEndpoint,
      ids: [projectId, endpointId],
      read: ({ status, body }, clean) =>
        status === 204 ? { isReadable: true, value: undefined } : readMutation(body, sameEndpoint(endpointId), clean),
    });
    return undefinedIfAbsent(deleted);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}

type EndpointExpectation = { readonly field: "id" | "project_id"; readonly value: string; readonly otherwise: string };

function sameEndpoint(endpointId: string): EndpointExpectation {
  return { field: "id", value: endpointId, otherwise: "another endpoint" };
}

function readMutation(
  body: Uint8Array,
  expected: EndpointExpectation,
  clean: (text: string) => string,
): Reading<Mutation> {
  const answer = readAnswer<WireMutation>(body, wireMutation);
  const checked = expectEach(answer, ({ endpoint }) => [endpoint], expected);
  return mapReading(checked, (wire) => mutationFromWire(wire, clean));
}

/**
 * Returns `undefined` for a documented 404, because the object is absent. A 404 about the project is thrown, because it
 * does not prove that the object is absent.
 */
async function undefinedIfAbsent<Value>(found: Promise<Value>): Promise<Value | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof ControlPlaneError && error.reason === "NotFound" && error.subject !== "Project") {
      return undefined;
    }
    throw error;
  }
}
