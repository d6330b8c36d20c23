/** Listens on the loopback addresses of endpoints. */
import type { EndpointRecord } from "../../engine/records.ts";
import { ComputeError } from "../postgres/compute-error.ts";
import type { ComputeProxy } from "./compute-proxy.ts";
import type { EndpointName } from "./endpoint-name.ts";

/** The endpoints whose host is a loopback address of their own. */
export class EndpointAddresses {
  readonly #port: number;
  readonly #endpoints = new Map<string, string>();

  constructor(port: number) {
    this.#port = port;
  }

  /** Returns the endpoint to whose address a client has connected; `undefined`: the address belongs to no endpoint. */
  of(address: string | undefined): EndpointName | undefined {
    const endpointId = this.#endpoints.get(address ?? "");
    return endpointId === undefined ? undefined : { endpointId, isPooled: false };
  }

  /** Listens on the address of the endpoint, if its host is one. @throws ComputeError when the address is in use */
  async add(proxy: ComputeProxy, { id, host }: Pick<EndpointRecord, "id" | "host">): Promise<void> {
    if (!/^127\.[0-9.]+$/.test(host)) return;
    const isListening = this.#endpoints.has(host);
    // After a reset, the same address may belong to another endpoint.
    this.#endpoints.set(host, id);
    if (isListening) return;
    try {
      await proxy.listen(this.#port, host);
    } catch (error) {
      this.#endpoints.delete(host);
      const remedy = "end the program that listens there, or use another directory with --data";
      throw new ComputeError(`the endpoint's address ${host}:${this.#port} is in use; ${remedy}`, { cause: error });
    }
  }

  /** Stops listening for endpoints for which `isThere` returns false. Open connections stay. */
  drop(proxy: ComputeProxy, isThere: (endpointId: string) => boolean): void {
    for (const [host, endpointId] of this.#endpoints) {
      if (isThere(endpointId)) continue;
      this.#endpoints.delete(host);
      proxy.leave(host);
    }
  }
}
