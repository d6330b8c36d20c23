/** A client of the sandbox for tests, and its fixture. */
import { onTestFinished } from "vitest";
import {
  fixtureWithoutEndpoints,
  type RunningSandbox,
  type SandboxOptions,
  startSandbox,
} from "../../../src/sandbox/index.ts";

/** An answer. Its body is parsed if it is JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies that the server may have got wrong
  readonly body: any;
}

/** The parts of a request besides method and path. */
export interface Sending {
  readonly body?: unknown;
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The sandbox of one test. The test sends requests to it over real HTTP. */
export class SandboxClient {
  readonly sandbox: RunningSandbox;

  constructor(sandbox: RunningSandbox) {
    this.sandbox = sandbox;
  }

  /** Calls the API. Throws what `fetch` throws when the connection is cut. */
  api(method: string, path: string, sending: Sending = {}): Promise<Answer> {
    const key = "key" in sending ? sending.key : this.sandbox.apiKey;
    const headers = { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...sending.headers };
    return send(`${this.sandbox.url}${path}`, method, { ...sending, headers });
  }

  /** Calls the control API. */
  control(method: string, path: string, body?: unknown): Promise<Answer> {
    return send(`${this.sandbox.controlUrl}${path}`, method, { body });
  }

  async advance(milliseconds: number): Promise<void> {
    const { status } = await this.control("POST", "/clock/advance", { milliseconds });
    if (status !== 200) throw new Error(`clock/advance answered ${status}`);
  }

  /**
   * Creates an endpoint on a branch and waits until its start has ended.
   * @returns its id
   */
  async activeEndpoint(branchId: string, fields: Record<string, unknown> = {}): Promise<string> {
    const { body, status } = await this.api("POST", `${paid}/endpoints`, {
      body: { endpoint: { branch_id: branchId, type: "read_write", ...fields } },
    });
    if (status !== 201) throw new Error(`create answered ${status}: ${JSON.stringify(body)}`);
    await this.advance(latencyMs);
    return body.endpoint.id;
  }

  /** Like `activeEndpoint`, and then suspends the endpoint. */
  async idleEndpoint(branchId: string, fields: Record<string, unknown> = {}): Promise<string> {
    const id = await this.activeEndpoint(branchId, fields);
    await this.api("POST", `${paid}/endpoints/${id}/suspend`);
    await this.advance(latencyMs);
    return id;
  }

  /**
   * Adds a fault for the next matching request.
   * @returns its id
   */
  async fault(method: string, path: string, effect: Record<string, unknown>): Promise<string> {
    const { body, status } = await this.control("POST", "/faults", { match: { method, path, times: 1 }, effect });
    if (status !== 201) throw new Error(`faults answered ${status}: ${JSON.stringify(body)}`);
    return body.id;
  }
}

/** How long an operation runs in these tests, in milliseconds of the stepped clock. */
export const latencyMs = 500;

/** Paths of the built-in fixture's two projects, and the branches of the first. */
export const paid = "/projects/green-fox-123456";
export const free = "/projects/tiny-owl-654321";
export const branches = {
  main: "br-still-lake-123456",
  orders: "br-quiet-sun-123456",
  staging: "br-bold-river-123456",
  preview: "br-soft-rain-123456",
};
export const freeBranch = "br-calm-hill-654321";

/** Starts a sandbox whose clock stands still. It is stopped when the test ends. */
export async function freshSandbox(options: SandboxOptions = {}): Promise<SandboxClient> {
  const sandbox = await startSandbox({
    clock: "stepped",
    fixture: fixtureWithoutEndpoints,
    operationLatencyMs: latencyMs,
    seed: 7,
    onBug: (error) => bugs.push(error),
    ...options,
  });
  const bugs: unknown[] = [];
  onTestFinished(async () => {
    await sandbox.stop();
    if (bugs.length > 0) throw new Error("the sandbox reported a bug", { cause: bugs[0] });
  });
  return new SandboxClient(sandbox);
}

/** Returns the short form in which tests name an operation: `suspend_compute running`. */
export function titles(operations: readonly { readonly action: string; readonly status: string }[]): string[] {
  return operations.map(({ action, status }) => `${action} ${status}`);
}

async function send(url: string, method: string, { body, headers = {} }: Sending): Promise<Answer> {
  const content = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const response = await fetch(url, { method, headers: { ...type, ...headers }, ...content });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: jsonOr(text) };
}

function jsonOr(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}
