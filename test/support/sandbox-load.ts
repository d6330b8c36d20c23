/** Puts load on a sandbox, and checks what it acknowledged. */
import { isDeepStrictEqual } from "node:util";

/** The parts of an endpoint that are compared. */
export interface Answered {
  readonly id: string;
  readonly disabled: boolean;
  readonly pooler_enabled: boolean;
  readonly settings: { readonly pg_settings: Readonly<Record<string, string>> };
}

/** The reads of a sandbox that was started again. */
export interface ProjectReader {
  endpoints(projectId: string): Promise<readonly Answered[]>;
  /** All operations, newest first. */
  operations(projectId: string): Promise<readonly { readonly id: string; readonly status: string }[]>;
}

interface Write {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly endpointId: string | undefined;
  readonly body: unknown;
}

/**
 * The only client that writes to its project. It sends one write after the other until the connection breaks, and
 * remembers what was acknowledged.
 */
export class LoadWorker {
  readonly projectId: string;
  readonly #branchId: string;
  readonly #apiKey: string;
  readonly #endpoints = new Map<string, Answered>();
  readonly #deleted = new Set<string>();
  readonly #operations = new Set<string>();
  /** The write that was sent and has no answer. It may have taken effect or not. */
  #open: Write | undefined;
  #turn = 0;
  /** The writes that were answered with success. */
  acknowledged = 0;

  constructor(parts: { readonly projectId: string; readonly branchId: string; readonly apiKey: string }) {
    this.projectId = parts.projectId;
    this.#branchId = parts.branchId;
    this.#apiKey = parts.apiKey;
  }

  /** Sends writes until the server does not answer any more, or answers that it is broken. */
  async run(url: string): Promise<void> {
    for (;;) {
      this.#turn += 1;
      const write = this.#next();
      this.#open = write;
      const answer = await this.#send(url, write).catch(() => undefined);
      if (answer === undefined || answer.status >= 500) return;
      this.#open = undefined;
      if (answer.status < 300) this.#acknowledge(write, answer.body);
      else if (answer.status !== 423) throw new Error(`${write.method} answered ${answer.status}`);
    }
  }

  /**
   * Compares the sandbox with the acknowledged writes.
   * @throws Error that names what is lost, or exists although no client asked for it
   */
  async expectNothingLost(reader: ProjectReader): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    const present = new Map((await reader.endpoints(this.projectId)).map((endpoint) => [endpoint.id, endpoint]));
    for (const [id, known] of this.#endpoints) {
      const found = present.get(id);
      const isOpen = open?.endpointId === id;
      if (found === undefined && !(isOpen && open.method === "DELETE")) throw new Error(`endpoint ${id} is lost`);
      const isAsKnown = found === undefined || isDeepStrictEqual(compared(found), compared(known));
      if (!isAsKnown && !isOpen) throw new Error(`a change of ${id} is lost: ${JSON.stringify({ known, found })}`);
    }
    const unknown = [...present.keys()].filter((id) => !this.#endpoints.has(id));
    const back = unknown.find((id) => this.#deleted.has(id));
    if (back !== undefined) throw new Error(`endpoint ${back} was deleted and is back`);
    if (unknown.length > (open?.method === "POST" ? 1 : 0))
      throw new Error(`no request asked for ${unknown.join(", ")}`);
    const operations = new Set((await reader.operations(this.projectId)).map(({ id }) => id));
    const lost = [...this.#operations].filter((id) => !operations.has(id));
    if (lost.length > 0) throw new Error(`operations ${lost.join(", ")} are lost`);
    // The next round starts from the present state, which may include a write that was not acknowledged.
    this.#endpoints.clear();
    for (const [id, endpoint] of present) this.#endpoints.set(id, endpoint);
  }

  #next(): Write {
    const ids = [...this.#endpoints.keys()];
    const endpointId = ids[this.#turn % Math.max(1, ids.length)];
    if (endpointId === undefined || (ids.length < 40 && this.#turn % 3 === 0)) {
      const endpoint = { branch_id: this.#branchId, type: "read_only" };
      return { method: "POST", endpointId: undefined, body: { endpoint } };
    }
    if (this.#turn % 7 === 0) return { method: "DELETE", endpointId, body: undefined };
    const endpoint = { settings: { pg_settings: { turn: String(this.#turn) } }, pooler_enabled: this.#turn % 2 === 0 };
    return { method: "PATCH", endpointId, body: { endpoint } };
  }

  async #send(url: string, { method, endpointId, body }: Write) {
    const tail = endpointId === undefined ? "" : `/${endpointId}`;
    const response = await fetch(`${url}/projects/${this.projectId}/endpoints${tail}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#apiKey}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Mutation };
  }

  #acknowledge({ method }: Write, { endpoint, operations }: Mutation): void {
    this.acknowledged += 1;
    for (const { id } of operations) this.#operations.add(id);
    if (method !== "DELETE") this.#endpoints.set(endpoint.id, endpoint);
    else {
      this.#endpoints.delete(endpoint.id);
      this.#deleted.add(endpoint.id);
    }
  }
}

interface Mutation {
  readonly endpoint: Answered;
  readonly operations: readonly { readonly id: string }[];
}

function compared({ disabled, pooler_enabled, settings }: Answered): unknown {
  return { disabled, pooler_enabled, settings };
}
