/** A connection whose answers a test writes. */
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import type { KubernetesCall, KubernetesConnection } from "../../../src/kubernetes/http/connection.ts";

/** A connection that remembers every call, and gives the answers that the test sets. */
export class ScriptedConnection implements KubernetesConnection {
  readonly namespace = "default";
  readonly calls: KubernetesCall[] = [];
  /** @returns the answer; a thrown error becomes the error of the call */
  respond: (call: KubernetesCall) => unknown = () => ({});

  async request(call: KubernetesCall): Promise<unknown> {
    // As JSON text, so that a later change of the body does not change what was sent.
    this.calls.push({ ...call, body: call.body === undefined ? undefined : JSON.parse(JSON.stringify(call.body)) });
    return await this.respond(call);
  }

  openStream(_call: KubernetesCall): Promise<AsyncIterable<Uint8Array>> {
    return Promise.reject(new KubernetesError("Unavailable", "no streams here"));
  }

  async close(): Promise<void> {}
}
