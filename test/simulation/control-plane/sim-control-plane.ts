/** The operator's port to the simulated control plane, with faults. */
import type { Fault, PlannedCall } from "../faults/fault.ts";
import type { Network } from "../network/exchange.ts";
import {
  type EndpointChanges,
  type EndpointCreation,
  type KeyedCall,
  type LeaderFence,
  LeaderFenceError,
  type Mutation,
  Password,
  type Request,
} from "../ports.ts";
import type { Process } from "../replica/process.ts";
import { type Answered, answerOf, roleOf, UnreadableError } from "./answers.ts";
import { Refusal } from "./engine.ts";
import { type CallWords, failureOfLoss, failureOfPage, failureOfRefusal, failureOfStatus } from "./failures.ts";
import type { ControlPlaneServer, Creator } from "./server.ts";
import { changesFromWire, creationFromWire } from "./wire.ts";

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
  readonly url: string;
  readonly accepts: (key: string) => boolean;
}

/** The parts of the port. */
export interface SimControlPlaneOptions {
  readonly process: Process;
  readonly server: ControlPlaneServer;
  readonly network: Network;
  readonly fence: LeaderFence;
  readonly faultOf: (call: PlannedCall) => Fault;
  readonly latencyMs: () => number;
  readonly tap: ControlPlaneTap;
  /** @default it is the control plane of the settings, which accepts the key */
  readonly described?: DescribedParts | undefined;
}

const readTimeoutMs = 10_000;
const writeTimeoutMs = 8_000;

/** The control plane of a run, as the operator's port. It answers as HTTP would, with the faults of the run. */
export function simulatedCall(options: SimControlPlaneOptions): KeyedCall {
  const { fence, described } = options;
  return async (request, key) => {
    // The HTTP client asks the fence right before it sends.
    if (request.method !== "GET" && !fence.mayStartEffect(writeTimeoutMs)) throw new LeaderFenceError();
    const plane = described && { planeId: described.planeId, url: described.url, key };
    const { json } = await carry(request, options, plane);
    return request.read(json, { clean: (text) => text, password: (text) => new Password(text) });
  };
}

function carry(
  request: Request<unknown>,
  options: SimControlPlaneOptions,
  plane: DescribedPlane | undefined,
): Promise<Answered> {
  const { process, network, faultOf, latencyMs, tap, server } = options;
  const call = callOf(request);
  const sent = tap.sent(call, process, plane);
  let isAbsence = false;
  const settled = network.carry<Answered>({
    process,
    fault: faultOf(sent.planned),
    latencyMs: latencyMs(),
    timeoutMs: call.method === "GET" ? readTimeoutMs : writeTimeoutMs,
    apply: () => {
      refuse(sent, request, options);
      try {
        const answered = answerOf({ server, request, creator: sent.creator });
        tap.applied(sent, answered.mutation);
        return answered;
      } catch (error) {
        if (error instanceof UnreadableError) throw failureOfLoss(call, "UnreadableAnswer");
        if (!(error instanceof Refusal)) throw error;
        isAbsence = isAbsenceOf(request, error);
        tap.applied(sent, isAbsence ? undefined : error);
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
    (error: Error) => tap.settled(sent, isAbsence ? undefined : error),
  );
  return settled;
}

/** @throws ControlPlaneError when the control plane refuses the request whatever it asks for */
function refuse({ call, plane }: SentCall, { ids }: Request<unknown>, options: SimControlPlaneOptions): void {
  const { server, described } = options;
  if (plane !== undefined && described?.accepts(plane.key) === false) {
    throw failureOfStatus(call, 401, { message: "not authorized" });
  }
  const status = server.transferred.get(call.projectId);
  if (status !== undefined) {
    throw failureOfStatus(call, status, { message: status === 404 ? "project not found" : "not allowed" });
  }
  if (server.disguises.get(ids[1] ?? "")?.isBroken === true) {
    throw failureOfStatus(call, 500, { message: "internal error" });
  }
}

/** A read by id of what does not exist is for the oracles a read that succeeded. */
function isAbsenceOf({ method, template }: Request<unknown>, { reason, message }: Refusal): boolean {
  const isById = method === "GET" && template.endsWith("_id}");
  return isById && reason === "NotFound" && !message.startsWith("project");
}

/** The request in the words of the oracles. */
function callOf(request: Request<unknown>): ControlPlaneCall {
  const { method, template, purpose, subject, ids, body } = request;
  const [projectId = "", second = "", third = ""] = ids;
  const words = { method, purpose, subject, projectId };
  const object = objectOf(request);
  if (object === "role") {
    const roleName = method === "POST" ? roleOf(request) : third;
    return { ...words, object, role: { branchId: second, roleName } };
  }
  if (object !== undefined) return { ...words, object };
  if (!template.includes("{endpoint_id}")) {
    return method === "POST" ? { ...words, creation: creationFromWire(body) } : words;
  }
  const changes = method === "PATCH" ? { changes: changesFromWire(body) } : {};
  return { ...words, endpointId: second, ...changes };
}

function objectOf({ method, template }: Request<unknown>): string | undefined {
  if (template.endsWith("_password")) return "password";
  const kind = /\/branches\/\{branch_id\}\/(role|database)s/.exec(template)?.[1];
  return kind === undefined || method !== "GET" ? kind : `${kind}s`;
}
