/** A client that changes resources beside the operator. */
import type { KubernetesConnection } from "../../../src/kubernetes/http/connection.ts";
import { objectPath } from "../../../src/kubernetes/http/objects.ts";
import { requestPatiently } from "../patient-request.ts";

/** A client that changes the resources of one namespace directly at the API server. */
export class ResourceEditor {
  readonly #admin: KubernetesConnection;
  readonly #namespace: string;
  #changes = 0;

  constructor(admin: KubernetesConnection, namespace: string) {
    this.#admin = admin;
    this.#namespace = namespace;
  }

  async create(name: string): Promise<void> {
    const body = {
      apiVersion: "endpoint-operator.dev/v1alpha1",
      kind: "ComputeEndpoint",
      metadata: { name, namespace: this.#namespace },
      spec: { projectId: "green-fox-1", branchId: `br-${name}`, type: "ReadWrite" },
    };
    await this.#call("POST", objectPath("computeendpoints", this.#namespace), body);
  }

  async update(name: string): Promise<void> {
    this.#changes += 1;
    await this.#call("PATCH", this.#path(name), {
      spec: { suspend: { mode: "After", afterSeconds: 60 + this.#changes } },
    });
  }

  async delete(name: string): Promise<void> {
    await this.#call("DELETE", this.#path(name));
  }

  /** Deletes the object and creates another one with the same name. */
  async recreate(name: string): Promise<void> {
    await this.delete(name);
    await this.create(name);
  }

  /** Returns the present objects: name → uid and resourceVersion. */
  async list(): Promise<Readonly<Record<string, string>>> {
    const answer = (await this.#call("GET", objectPath("computeendpoints", this.#namespace))) as {
      readonly items: readonly { readonly metadata: Readonly<Record<"name" | "uid" | "resourceVersion", string>> }[];
    };
    return Object.fromEntries(
      answer.items.map(({ metadata: { name, uid, resourceVersion } }) => [name, `${uid} ${resourceVersion}`]),
    );
  }

  #path(name: string): string {
    return objectPath("computeendpoints", this.#namespace, name);
  }

  async #call(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: object): Promise<unknown> {
    const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const call = { what: `${method} ${path}`, method, path, contentType, timeoutMs: 60_000 };
    return await requestPatiently(this.#admin, body === undefined ? call : { ...call, body });
  }
}
