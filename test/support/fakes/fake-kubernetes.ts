/** An API server in memory. */
import type { KubernetesCall, KubernetesConnection } from "../../../src/kubernetes/http/connection.ts";
import { computeEndpointPath, namespacesPath } from "../../../src/kubernetes/http/objects.ts";

/** An object in the form in which it is stored and sent. */
export interface FakeStored {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly resourceVersion: string;
    readonly generation: number;
    readonly [field: string]: unknown;
  };
  readonly [part: string]: unknown;
}

/** A patch that waits for the test. It takes effect when the test releases it. */
export interface HeldPatch {
  readonly path: string;
  /** Applies it and answers. */
  letGo(): void;
}

/**
 * The resources of one API server in memory. It serves pages of a list, one watch, and merge patches of status without
 * preconditions. Every other call gets an empty object.
 */
export class FakeKubernetes implements KubernetesConnection {
  readonly namespace = "default";
  /** The patches in the order of arrival, including released ones. */
  readonly patches: HeldPatch[] = [];
  /** Whether patches wait for the test. */
  holdsPatches = false;
  readonly #objects = new Map<string, FakeStored>();
  #version = 0;
  #watchers: ((line: Uint8Array) => void)[] = [];

  /** Creates an object, or changes one as a person does: with a new generation. */
  put(
    key: { readonly namespace: string; readonly name: string },
    parts: { readonly metadata?: object; readonly spec?: object; readonly status?: object },
  ): void {
    const path = computeEndpointPath(key);
    const before = this.#objects.get(path);
    const generation = (before?.metadata.generation ?? 0) + 1;
    const metadata = { ...key, uid: `uid-${key.namespace}-${key.name}`, ...before?.metadata, ...parts.metadata };
    this.#keep(path, { ...before, ...parts, metadata: { ...metadata, generation, resourceVersion: "" } });
  }

  async request(call: KubernetesCall): Promise<unknown> {
    if (call.method === "PATCH" && call.path.includes("/computeendpoints/")) {
      return this.#patch(call);
    }
    if (call.method === "GET" && call.path === namespacesPath) {
      return { metadata: { resourceVersion: "1" }, items: [] };
    }
    return call.method === "GET" && call.path.endsWith("/computeendpoints") ? this.#page(call) : {};
  }

  async openStream({ signal, path }: KubernetesCall): Promise<AsyncIterable<Uint8Array>> {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const send = (line: Uint8Array) => void writer.write(line).catch(() => {});
    if (path !== namespacesPath) {
      this.#watchers.push(send);
    }
    signal?.addEventListener("abort", () => {
      this.#watchers = this.#watchers.filter((each) => each !== send);
      void writer.close().catch(() => {});
    });
    return readable;
  }

  async close(): Promise<void> {}

  #patch({ path, body }: KubernetesCall): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const letGo = () => {
      const name = path.replace(/\/status$/, "");
      const before = this.#objects.get(name);
      const { status } = body as { readonly status?: object };
      resolve(before && this.#keep(name, { ...before, status: { ...(before.status as object), ...status } }));
    };
    this.patches.push({ path, letGo });
    if (!this.holdsPatches) {
      letGo();
    }
    return promise;
  }

  #page({ query = {} }: KubernetesCall): unknown {
    const all = [...this.#objects.values()];
    const start = Number(query.continue ?? 0);
    const end = start + Number(query.limit ?? all.length);
    const token = end < all.length ? String(end) : "";
    return { metadata: { resourceVersion: String(this.#version), continue: token }, items: all.slice(start, end) };
  }

  #keep(path: string, object: FakeStored): FakeStored {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    const kept = { ...object, metadata };
    const type = this.#objects.has(path) ? "MODIFIED" : "ADDED";
    this.#objects.set(path, kept);
    for (const send of this.#watchers) {
      send(Buffer.from(`${JSON.stringify({ type, object: kept })}\n`));
    }
    return kept;
  }
}
