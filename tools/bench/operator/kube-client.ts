/** Makes plain calls to an API server. */
import { readFile } from "node:fs/promises";
import { Agent } from "undici";

/** The address of an API server, and one user of it. */
export interface KubeAccess {
  /** The base URL, without a trailing slash. */
  readonly server: string;
  /** The PEM file with the CA of the server's certificate. */
  readonly caFile: string;
  readonly token: string;
}

/** One call. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PATCH";
  readonly path: string;
  readonly body?: unknown;
  /** The content type of the body. @default "application/json" */
  readonly contentType?: string;
}

/** Sends calls to an API server over the same kind of connections as the operator. */
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

  /** Makes a call. @throws Error for an answer that is not 2xx */
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

  /** Returns a token of a service account that is valid for two hours. */
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

/** A service account of Kubernetes. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** Returns the user name of a service account in the audit log. */
export function userNameOf({ namespace, name }: ServiceAccount): string {
  return `system:serviceaccount:${namespace}:${name}`;
}
