/** The operator's port to the simulated control plane, with faults. */
import type { Fault, PlannedCall } from "../faults/fault.ts";
import type { Network } from "../network/exchange.ts";
import type {
  ControlPlane,
  EndpointChanges,
  EndpointCreation,
  EndpointList,
  KeySource,
  LeaderFence,
  Mutation,
  ObservedEndpoint,
  Operation,
  OperationPage,
  PowerAction,
} from "../ports.ts";
import { LeaderFenceError } from "../ports.ts";
import type { Process } from "../replica/process.ts";
import { Refusal } from "./engine.ts";
import { type CallWords, failureOfLoss, failureOfPage, failureOfRefusal, failureOfStatus } from "./failures.ts";
import type { ControlPlaneServer, Creator } from "./server.ts";
import { SimBranchObjects } from "./sim-branch-objects.ts";

/** One call of the operator to the control plane. */
export interface ControlPlaneCall extends CallWords {
  readonly projectId: string;
  readonly endpointId?: string;
  readonly creation?: EndpointCreation;
  readonly changes?: EndpointChanges;
  /** The kind of object, if it is not an endpoint: `role`. */
  readonly object?: string;
  /** The role that is to be created or deleted. */
  readonly role?: { readonly branchId: string; readonly roleName: string };
}

/** The control plane that a resource describes, as one process reached it. */
export interface DescribedPlane {
  /** `ControlPlane/shop/own`. */
  readonly planeId: string;
  readonly url: string;
  readonly key: string;
}

/** Called for every call, for oracles and the event log. It returns a mark, which the later callbacks get too. */
export interface ControlPlaneTap {
  sent(call: ControlPlaneCall, process: Process, plane: DescribedPlane | undefined): SentCall;
  /** The call has taken effect, or the control plane has refused it. At most once for each call. */
  applied(call: SentCall, outcome: Mutation | Refusal | undefined): void;
  /** The caller has an answer, or knows that it gets none. */
  settled(call: SentCall, error: Error | undefined): void;
}

/** A call that is not answered yet. */
export interface SentCall {
  readonly call: ControlPlaneCall;
  readonly process: Process;
  readonly planned: PlannedCall;
  /** The resource for which a create was sent. */
  readonly creator: Creator;
  /** True milliseconds. */
  readonly sentAtMs: number;
  /** By which control plane it was sent; `undefined`: by that of the settings. */
  readonly plane?: DescribedPlane | undefined;
}

/** What the port of a control plane needs that a resource describes. */
export interface DescribedParts {
  readonly planeId: string;
  readonly keys: Pick<KeySource, "current">;
  readonly fence: LeaderFence;
  readonly accepts: (key: string) => boolean;
}

/** The parts of the port. */
export interface SimControlPlaneOptions {
  readonly process: Process;
  readonly server: ControlPlaneServer;
  readonly network: Network;
  readonly serviceUrl: string;
  readonly faultOf: (call: PlannedCall) => Fault;
  readonly latencyMs: () => number;
  readonly tap: ControlPlaneTap;
  /** @default it is the control plane of the settings, which accepts the key */
  readonly described?: DescribedParts;
}

const readTimeoutMs = 10_000;
const writeTimeoutMs = 8_000;

/**
 * The control plane of a run, as the operator's port. It answers as the HTTP client would, with the faults of the run.
 */
export class SimControlPlane extends SimBranchObjects implements ControlPlane {
  readonly serviceUrl: string;
  readonly #options: SimControlPlaneOptions;

  constructor(options: SimControlPlaneOptions) {
    super(options.server, (call, apply) => this.#carry(call, apply));
    this.#options = options;
    this.serviceUrl = options.serviceUrl;
  }

  listEndpoints(projectId: string): Promise<EndpointList> {
    const call = { method: "GET", purpose: "list the project's endpoints", subject: "Project", projectId } as const;
    return this.#carry(call, () => this.#options.server.list(projectId));
  }

  async getEndpoint(projectId: string, endpointId: string): Promise<ObservedEndpoint | undefined> {
    const words = { method: "GET", purpose: "read the endpoint", subject: "Endpoint" } as const;
    const call = { ...words, projectId, endpointId };
    const { server } = this.#options;
    try {
      return await this.#carry(call, () => {
        if (server.unreadable.has(endpointId)) throw failureOfLoss(call, "UnreadableAnswer");
        return orAbsent(() => server.endpoint(projectId, endpointId));
      });
    } catch (error) {
      // A machine of the control plane that lags behind may answer 404, too.
      if (isAbsence(error)) return undefined;
      throw error;
    }
  }

  listOperations(
    projectId: string,
    { limit, cursor }: { readonly limit: number; readonly cursor?: string },
  ): Promise<OperationPage> {
    const call = { method: "GET", purpose: "list the project's operations", subject: "Project", projectId } as const;
    return this.#carry(call, () => {
      const all = this.#options.server.operations(projectId);
      const from = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
      const operations = all.slice(from, from + limit);
      return { operations, unreadableIds: [], cursor: from + limit < all.length ? operations.at(-1)?.id : undefined };
    });
  }

  getOperation(projectId: string, operationId: string): Promise<Operation | undefined> {
    const call = { method: "GET", purpose: "read the operation", subject: "Operation", projectId } as const;
    const { server } = this.#options;
    return this.#carry(call, () => {
      if (server.disguises.get(operationId)?.isBroken === true) {
        throw failureOfStatus(call, 500, { message: "internal error" });
      }
      return orAbsent(() => server.operation(projectId, operationId));
    });
  }

  createEndpoint(projectId: string, creation: EndpointCreation): Promise<Mutation> {
    const words = { method: "POST", purpose: "create the endpoint", subject: "Project" } as const;
    return this.#write({ ...words, projectId, creation }, (creator) =>
      this.#options.server.create(projectId, creation, creator),
    );
  }

  updateEndpoint(projectId: string, endpointId: string, changes: EndpointChanges): Promise<Mutation> {
    const words = { method: "PATCH", purpose: "update the endpoint", subject: "Endpoint" } as const;
    return this.#write({ ...words, projectId, endpointId, changes }, () =>
      this.#options.server.update(projectId, endpointId, changes),
    );
  }

  changePower(projectId: string, endpointId: string, action: PowerAction): Promise<Mutation> {
    const words = { method: "POST", purpose: `${action} the compute`, subject: "Endpoint" } as const;
    return this.#write({ ...words, projectId, endpointId }, () =>
      this.#options.server.changePower(projectId, endpointId, action),
    );
  }

  async deleteEndpoint(projectId: string, endpointId: string): Promise<Mutation | undefined> {
    const words = { method: "DELETE", purpose: "delete the endpoint", subject: "Endpoint" } as const;
    try {
      return await this.#write({ ...words, projectId, endpointId }, () =>
        this.#options.server.delete(projectId, endpointId),
      );
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw error;
    }
  }

  #carry<Value>(call: ControlPlaneCall, apply: () => Value): Promise<Value> {
    return this.#exchange(call, () => ({ value: apply(), mutation: undefined }));
  }

  #write(call: ControlPlaneCall, apply: (creator: Creator) => Mutation): Promise<Mutation> {
    return this.#exchange(call, (creator) => {
      const mutation = apply(creator);
      return { value: mutation, mutation };
    });
  }

  #exchange<Value>(
    call: ControlPlaneCall,
    apply: (creator: Creator) => { readonly value: Value; readonly mutation: Mutation | undefined },
  ): Promise<Value> {
    const { described, serviceUrl: url } = this.#options;
    if (described === undefined) return this.#send(call, apply, undefined);
    const { keys, fence, planeId } = described;
    return keys.current().then((key) => {
      // The HTTP client asks the fence right before it sends.
      if (call.method !== "GET" && !fence.mayStartEffect(writeTimeoutMs)) throw new LeaderFenceError();
      return this.#send(call, apply, { planeId, url, key });
    });
  }

  #send<Value>(
    call: ControlPlaneCall,
    apply: (creator: Creator) => { readonly value: Value; readonly mutation: Mutation | undefined },
    plane: DescribedPlane | undefined,
  ): Promise<Value> {
    const { process, network, faultOf, latencyMs, tap, described, server } = this.#options;
    const sent = tap.sent(call, process, plane);
    const settled = network.carry<Value>({
      process,
      fault: faultOf(sent.planned),
      latencyMs: latencyMs(),
      timeoutMs: call.method === "GET" ? readTimeoutMs : writeTimeoutMs,
      apply: () => {
        if (plane !== undefined && described?.accepts(plane.key) === false) {
          throw failureOfStatus(call, 401, { message: "not authorized" });
        }
        const status = server.transferred.get(call.projectId);
        if (status !== undefined) {
          throw failureOfStatus(call, status, { message: status === 404 ? "project not found" : "not allowed" });
        }
        try {
          const { value, mutation } = apply(sent.creator);
          tap.applied(sent, mutation);
          return value;
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          tap.applied(sent, error);
          throw failureOfRefusal(call, error);
        }
      },
      refusal: ({ status, retryAfter }) =>
        failureOfStatus(call, status, { message: "refused", retryAfterSeconds: retryAfter?.seconds }),
      page: (status) => failureOfPage(call, status),
      lost: (loss) => failureOfLoss(call, loss === "GivenUp" ? "ConnectionLost" : loss),
    });
    settled.then(
      () => tap.settled(sent, undefined),
      (error: Error) => tap.settled(sent, error),
    );
    return settled;
  }
}

/**
 * @returns `undefined` if the engine says that the object does not exist. A project that does not exist stays an error
 */
function orAbsent<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal && error.reason === "NotFound" && !error.message.startsWith("project")) {
      return undefined;
    }
    throw error;
  }
}

function isAbsence(error: unknown): boolean {
  const { reason, subject } = error as { readonly reason?: string; readonly subject?: string };
  return reason === "NotFound" && subject !== "Project";
}
