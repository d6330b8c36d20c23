import { readFile } from "node:fs/promises";
import { Agent } from "undici";

/** How to reach an API server as one user. */
export interface KubeAccess {
  /** Base URL, without a trailing slash. */
  readonly server: string;
  /** PEM file with the CA of the serving certificate. */
  readonly caFile: string;
  readonly token: string;
}

/** One call. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PATCH";
  readonly path: string;
  readonly body?: unknown;
  /** @default "application/json" */
  readonly contentType?: string;
}

/** Plain calls to an API server, on the same kind of connections that the operator keeps. */
export class KubeClient {
  readonly #access: KubeAccess;
  readonly #agent: Agent;

  private constructor(access: KubeAccess, ca: string) {
    this.#access = access;
    this.#agent = new Agent({ allowH2: false, pipelining: 1, keepAliveTimeout: 30_000, connect: { ca } });
  }

  static async open(access: KubeAccess): Promise<KubeClient> {
    return new KubeClient(access, await readFile(access.caFile, "utf8"));
  }

  /** @throws Error for an answer that is not 2xx */
  async request<Body>({ method, path, body, contentType = "application/json" }: KubeRequest): Promise<Body> {
    const answer = await this.#agent.request({
      origin: this.#access.server,
      path,
      method,
      headers: {
        authorization: `Bearer ${this.#access.token}`,
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": contentType }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
    return JSON.parse(text) as Body;
  }

  /** A token of a service account, for two hours. */
  async tokenOf(account: ServiceAccount): Promise<string> {
    const answer = await this.request<{ readonly status: { readonly token: string } }>({
      method: "POST",
      path: `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`,
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 7_200 } },
    });
    return answer.status.token;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

/** The identity of a client. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** As it stands in the audit log. */
export function userNameOf({ namespace, name }: ServiceAccount): string {
  return `system:serviceaccount:${namespace}:${name}`;
}
