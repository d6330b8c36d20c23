/** A client of the sandbox's API and control API. */
import type { RunningSandbox } from "../../src/sandbox/index.ts";
import { secret } from "./secrets.ts";
import { waitUntil } from "./wait-until.ts";

/** The parts of an endpoint of the sandbox's API that tests read. */
export interface SandboxEndpoint {
  readonly id: string;
  readonly branch_id: string;
  readonly type: string;
  readonly name?: string;
  readonly current_state: string;
  readonly autoscaling_limit_min_cu: number;
  readonly autoscaling_limit_max_cu: number;
  readonly disabled: boolean;
  readonly settings: { readonly pg_settings: Readonly<Record<string, string>> };
}

/** An entry of the sandbox's request log. */
export interface LoggedRequest {
  readonly sequence: number;
  readonly method: string;
  readonly path: string;
  /** RFC 3339. */
  readonly time: string;
  /** The name of the key. */
  readonly key: string;
  readonly status: number;
  /** The kind of the fault that was applied to it. */
  readonly fault?: string;
}

/** The requests that a fault applies to. */
export interface FaultMatch {
  readonly method: string;
  /**
   * The path on the server. Each segment is text or an asterisk, for instance
   * /api/v2/projects/green-fox-123456/endpoints.
   */
  readonly path: string;
  readonly skip?: number;
  readonly times?: number;
}

interface FaultState {
  readonly id: string;
  readonly hits: number;
  readonly held: number;
}

/** The sandbox as a test controls and reads it: over HTTP, like any other client. */
export class SandboxControl {
  readonly #sandbox: Pick<RunningSandbox, "url" | "controlUrl" | "apiKey">;

  constructor(sandbox: Pick<RunningSandbox, "url" | "controlUrl" | "apiKey">) {
    this.#sandbox = sandbox;
  }

  /** The base URL of the API. */
  get url(): string {
    return this.#sandbox.url;
  }

  /**
   * Calls the API with the sandbox's own key, like another client.
   * @throws Error unless the status is 2xx
   */
  async api<Body = unknown>(method: string, path: string, body?: unknown): Promise<Body> {
    return send<Body>(`${this.#sandbox.url}${path}`, method, body, this.#sandbox.apiKey);
  }

  /**
   * Calls the control API.
   * @throws Error unless the status is 2xx
   */
  async control<Body = unknown>(method: string, path: string, body?: unknown): Promise<Body> {
    return send<Body>(`${this.#sandbox.controlUrl}${path}`, method, body);
  }

  async endpoints(projectId: string): Promise<readonly SandboxEndpoint[]> {
    const { endpoints } = await this.api<{ endpoints: readonly SandboxEndpoint[] }>(
      "GET",
      `/projects/${projectId}/endpoints`,
    );
    return endpoints;
  }

  /**
   * Creates an endpoint that does not belong to the operator.
   * @returns its id
   */
  async createForeign(projectId: string, branchId: string, type = "read_write"): Promise<string> {
    const { endpoint } = await this.api<{ endpoint: SandboxEndpoint }>("POST", `/projects/${projectId}/endpoints`, {
      endpoint: { branch_id: branchId, type },
    });
    return endpoint.id;
  }

  /** Waits until no operation locks the project. */
  async untilUnlocked(projectId: string): Promise<void> {
    await waitUntil(
      async () => {
        const { operations } = await this.api<{ operations: readonly { status: string }[] }>(
          "GET",
          `/projects/${projectId}/operations`,
        );
        return operations.every(({ status }) => status === "finished" || status === "failed") ? true : undefined;
      },
      { what: `no operation runs in ${projectId}` },
    );
  }

  /** @returns the fault's id */
  async fault(match: FaultMatch, effect: Readonly<Record<string, unknown>>): Promise<string> {
    const { id } = await this.control<{ id: string }>("POST", "/faults", { match, effect });
    return id;
  }

  async clearFaults(): Promise<void> {
    await this.control("DELETE", "/faults");
  }

  async failNext(action: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await this.control("POST", "/operations/fail-next", { action, times: 1, ...more });
  }

  /** Waits until a fault of the kind `hold` holds an answer back. Its request has taken effect by then. */
  async untilHeld(faultId: string): Promise<void> {
    await this.untilFault(faultId, "an answer is held back", ({ held }) => held > 0);
  }

  /** Waits until a fault is in the wanted state: how many requests it has met, and how many answers it holds back. */
  async untilFault(faultId: string, what: string, isSo: (state: FaultState) => boolean): Promise<void> {
    const look = async () => {
      const { faults } = await this.control<{ faults: readonly FaultState[] }>("GET", "/faults");
      return faults.some((each) => each.id === faultId && isSo(each)) || undefined;
    };
    await waitUntil(look, { what });
  }

  /** Makes another API key. */
  async newKey(name: string): Promise<string> {
    const { key } = await this.control<{ key: string }>("POST", "/keys", { name });
    return secret(key);
  }

  /** Revokes every API key of this name. */
  async revokeKey(name: string): Promise<void> {
    const { keys } = await this.control<{ keys: readonly { id: string; name: string }[] }>("GET", "/keys");
    for (const each of keys) if (each.name === name) await this.control("DELETE", `/keys/${each.id}`);
  }

  /** Returns the requests to the API, oldest first. */
  async requests(since = 0): Promise<readonly LoggedRequest[]> {
    const { requests } = await this.control<{ requests: readonly LoggedRequest[] }>("GET", `/requests?since=${since}`);
    return requests;
  }
}

async function send<Body>(url: string, method: string, body: unknown, key?: string): Promise<Body> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`${method} ${new URL(url).pathname} answered ${response.status}: ${text}`);
  }
  return (text === "" ? undefined : JSON.parse(text)) as Body;
}
