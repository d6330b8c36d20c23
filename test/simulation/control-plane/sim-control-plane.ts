/** The operator's port to the simulated control plane, with faults. */
import { changesOf, type EndpointFields } from "../../../src/sandbox/http/codecs/endpoint.ts";
import type { Fault, PlannedCall } from "../faults/fault.ts";
import type { Network } from "../network/exchange.ts";
import {
  type KeyedCall,
  type LeaderFence,
  LeaderFenceError,
  Password,
  type Request,
  type RequestWords,
} from "../ports.ts";
import type { Process } from "../replica/process.ts";
import { answerOf, roleOf } from "./answers.ts";
import { Refusal } from "./engine.ts";
import { failureOfAnswer, failureOfLoss, failureOfPage, failureOfRefusal, unreadable } from "./failures.ts";
import type { ControlPlaneServer, Creator } from "./server.ts";

/** One call of the operator to the control plane. */
export interface ControlPlaneCall extends RequestWords {
  readonly projectId: string;
  readonly endpointId?: string;
  /** The name that a create gives its endpoint. */
  readonly newName?: string;
  readonly changes?: ReturnType<typeof changesOf>;
  /** The kind of object, if it is not an endpoint: `role`. */
  readonly object?: string;
  /** The branch that is to be changed or deleted. */
  readonly branchId?: string;
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
  applied(call: SentCall, outcome: Outcome): void;
  /** The caller has an answer, or knows that it gets none. */
  settled(call: SentCall, error: Error | undefined): void;
}

/** The parts of the control plane's answers that the oracles read. */
export type Outcome = Refusal | { readonly endpoint?: { readonly id: string } };

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
    const json = await carry(request, options, plane);
    return request.read(json, { clean: (text) => text, password: (text) => new Password(text) });
  };
}

function carry(
  request: Request<unknown>,
  options: SimControlPlaneOptions,
  plane: DescribedPlane | undefined,
): Promise<unknown> {
  const { process, network, faultOf, latencyMs, tap, server } = options;
  const call = callOf(request);
  const sent = tap.sent(call, process, plane);
  let isAbsence = false;
  const settled = network.carry({
    process,
    fault: faultOf(sent.planned),
    latencyMs: latencyMs(),
    timeoutMs: call.method === "GET" ? readTimeoutMs : writeTimeoutMs,
    apply: () => {
      refuse(sent, request, options);
      try {
        const answered = answerOf({ server, request, creator: sent.creator });
        tap.applied(sent, answered as Outcome);
        return answered;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        isAbsence = isAbsenceOf(request, error);
        tap.applied(sent, isAbsence ? {} : error);
        throw failureOfRefusal(call, error);
      }
    },
    refusal: ({ status, retryAfter }) =>
      failureOfAnswer(call, { status, message: "refused", retryAfterSeconds: retryAfter?.seconds }),
    page: (status) => failureOfPage(call, status),
    lost: (loss) => failureOfLoss(call, loss),
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
    throw failureOfAnswer(call, { status: 401, message: "not authorized" });
  }
  const status = server.transferred.get(call.projectId);
  if (status !== undefined) {
    throw failureOfAnswer(call, { status, message: status === 404 ? "project not found" : "not allowed" });
  }
  if (server.disguises.get(ids[1] ?? "")?.isBroken === true) {
    throw failureOfAnswer(call, { status: 500, message: "internal error" });
  }
  if (call.method === "GET" && server.unreadable.has(ids[1] ?? "")) throw unreadable(call);
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
  if (object === "branch" && second !== "") return { ...words, object, branchId: second };
  if (object !== undefined) return { ...words, object };
  if (!template.includes("{endpoint_id}")) {
    const { endpoint } = (body ?? {}) as { readonly endpoint?: { readonly name: string } };
    return endpoint === undefined ? words : { ...words, newName: endpoint.name };
  }
  if (method !== "PATCH") return { ...words, endpointId: second };
  const { endpoint: fields } = body as { readonly endpoint: EndpointFields };
  return { ...words, endpointId: second, changes: changesOf(fields) };
}

function objectOf({ method, template }: Request<unknown>): string | undefined {
  if (template.endsWith("_password")) return "password";
  if (/\/branches(\/\{branch_id\}(\/restore)?)?$/.test(template)) return method === "GET" ? "branches" : "branch";
  const kind = /\/branches\/\{branch_id\}\/(role|database)s/.exec(template)?.[1];
  return kind === undefined || method !== "GET" ? kind : `${kind}s`;
}
