/** Makes plain calls to an API server. */
import { readFile } from "node:fs/promises";
import { Pool } from "undici";
import { send } from "../common/load.ts";

/** The address of an API server, and one user of it. */
export interface KubeAccess {
  /** The base URL, without a trailing slash. */
  readonly server: string;
  /** The PEM file with the CA of the server's certificate. */
  readonly caFile: string;
  readonly token: string;
}

/** The number of calls at the same time, to the API server and to the control plane. It is the operator's default. */
export const mostConnections = 16;

/** Sends calls to an API server over the same kind of connections as the operator. */
export class KubeClient {
  readonly #token: string;
  readonly #pool: Pool;

  private constructor({ server, token }: KubeAccess, ca: string) {
    this.#token = token;
    const connections = { connections: mostConnections, pipelining: 1, allowH2: false, keepAliveTimeout: 30_000 };
    this.#pool = new Pool(server, { ...connections, connect: { ca } });
  }

  static async open(access: KubeAccess): Promise<KubeClient> {
    return new KubeClient(access, await readFile(access.caFile, "utf8"));
  }

  get<Body>(path: string): Promise<Body> {
    return this.#request({ method: "GET", path });
  }

  post<Body>(path: string, body: object): Promise<Body> {
    return this.#request({ method: "POST", path, body, contentType: "application/json" });
  }

  /** Sends a merge patch. */
  patch<Body>(path: string, body: object): Promise<Body> {
    return this.#request({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  async #request<Body>({ method, path, body, contentType }: KubeRequest): Promise<Body> {
    const common = { authorization: `Bearer ${this.#token}`, accept: "application/json" };
    const headers = { ...common, ...(contentType && { "content-type": contentType }) };
    return JSON.parse(await send(this.#pool, { method, path, headers, ...(body && { body: JSON.stringify(body) }) }));
  }
}

interface KubeRequest {
  readonly method: "GET" | "POST" | "PATCH";
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
}
