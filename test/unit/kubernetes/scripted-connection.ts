/** A connection whose answers a test writes. */
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import type { KubernetesCall, KubernetesConnection } from "../../../src/kubernetes/http/connection.ts";

/** A connection that keeps every call, and answers as the test says. */
export class ScriptedConnection implements KubernetesConnection {
  readonly namespace = undefined;
  readonly calls: KubernetesCall[] = [];
  /** @returns the answer; thrown errors are the call's. */
  respond: (call: KubernetesCall) => unknown = () => ({});

  async request(call: KubernetesCall): Promise<unknown> {
    // As JSON, so that a body that is changed later does not change what was sent.
    this.calls.push({ ...call, body: call.body === undefined ? undefined : JSON.parse(JSON.stringify(call.body)) });
    return await this.respond(call);
  }

  openStream(): Promise<AsyncIterable<Uint8Array>> {
    return Promise.reject(new KubernetesError("Unavailable", "no streams here"));
  }

  async close(): Promise<void> {}
}
