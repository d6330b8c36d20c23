/** The operator's connection to the simulated API server, with faults. */
import type { Fault, PlannedCall } from "../faults/fault.ts";
import type { Loss, Network } from "../network/exchange.ts";
import {
  errorForStatus,
  type KubernetesCall,
  type KubernetesConnection,
  KubernetesError,
  parseStatusAnswer,
  unreadableAnswer,
} from "../ports.ts";
import type { Process } from "../replica/process.ts";
import { type Answer, failure, isSuccess } from "./answers.ts";
import { type ApiServer, notServed } from "./api-server.ts";
import { parseResourcePath, type ResourcePath } from "./resource-path.ts";
import type { WatchHub } from "./watch-hub.ts";

/** Called for every call; for oracles and the event log. */
export interface KubernetesTap {
  sent(call: KubernetesCall, process: Process, planned: PlannedCall): void;
  applied(call: KubernetesCall, process: Process, answer: Answer): void;
}

/** The parts of a connection. */
export interface SimConnectionOptions {
  readonly process: Process;
  readonly apiServer: ApiServer;
  readonly hub: WatchHub;
  readonly network: Network;
  readonly faultOf: (call: PlannedCall) => Fault;
  readonly latencyMs: () => number;
  readonly tap: KubernetesTap;
}

/** The operator's connection to the model of the API server. */
export class SimConnection implements KubernetesConnection {
  readonly namespace = "operators";
  readonly #options: SimConnectionOptions;

  constructor(options: SimConnectionOptions) {
    this.#options = options;
  }

  request(call: KubernetesCall): Promise<unknown> {
    return this.#carry(call, () => {
      const { apiServer, process, tap } = this.#options;
      const answer = apiServer.handle(call);
      tap.applied(call, process, answer);
      if (!isSuccess(answer)) throw errorOf(call, answer);
      return answer.body;
    });
  }

  openStream(call: KubernetesCall): Promise<AsyncIterable<Uint8Array>> {
    return this.#carry(call, () => {
      const { hub, process, apiServer } = this.#options;
      const { query = {}, signal } = call;
      if (!apiServer.isInstalled(pathOf(call).collection)) throw errorOf(call, notServed());
      return hub.open({ client: process.identity, owner: process, path: pathOf(call), query, signal });
    });
  }

  async close(): Promise<void> {}

  #carry<Value>(call: KubernetesCall, apply: () => Value): Promise<Value> {
    const { process, network, faultOf, latencyMs, tap } = this.#options;
    const planned = plannedCallOf(call, process);
    tap.sent(call, process, planned);
    return network.carry({
      process,
      fault: faultOf(planned),
      latencyMs: latencyMs(),
      timeoutMs: call.timeoutMs,
      signal: call.signal,
      apply,
      refusal: ({ status, retryAfter }) => {
        const details = retryAfter === undefined ? {} : { retryAfterSeconds: retryAfter.seconds };
        return errorOf(call, failure(status, reasonByStatus[status] ?? "InternalError", "refused", details));
      },
      page: (status) =>
        status === 200 ? unreadableAnswer(call.what, "not JSON") : errorOf(call, { status, body: "<html>" }),
      lost: (loss) => lossError(call, loss),
    });
  }
}

const reasonByStatus: Readonly<Record<number, string>> = {
  409: "Conflict",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
};

function plannedCallOf({ method, path, what }: KubernetesCall, process: Process): PlannedCall {
  const isResource = ["/computeendpoints", "/databaseaccesses", "/databasebranches", "/secrets", "controlplanes"].some(
    (part) => path.includes(part),
  );
  return {
    replica: process.machine.name,
    server: "API server",
    what,
    isEffect: isResource && method !== "GET",
    isRead: method === "GET",
  };
}

function pathOf({ path }: KubernetesCall): ResourcePath {
  const parsed = parseResourcePath(path);
  if (parsed === undefined) throw new Error(`the model has no watch of ${path}`);
  return parsed;
}

function errorOf({ what, method }: KubernetesCall, { status, body }: Answer): KubernetesError {
  return errorForStatus(what, parseStatusAnswer(status, body), method !== "GET");
}

function lossError({ what }: KubernetesCall, loss: Loss): KubernetesError {
  return loss === "TimedOut"
    ? new KubernetesError("TimedOut", `cannot ${what}: no answer in time`)
    : new KubernetesError("Unavailable", `cannot ${what}: the API server cannot be reached (${loss})`);
}
