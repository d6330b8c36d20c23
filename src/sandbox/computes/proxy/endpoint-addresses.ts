/** Listens on the loopback addresses of endpoints. */
import { pooledAddress } from "../../engine/endpoints.ts";
import type { EndpointRecord } from "../../engine/records.ts";
import { ComputeError } from "../postgres/compute-error.ts";
import type { ComputeProxy } from "./compute-proxy.ts";
import type { EndpointName } from "./endpoint-name.ts";

/** One address for direct and one for pooled connections. */
export class EndpointAddresses {
  readonly #port: number;
  readonly #endpoints = new Map<string, EndpointName>();

  constructor(port: number) {
    this.#port = port;
  }

  of(address: string | undefined): EndpointName | undefined {
    return this.#endpoints.get(address ?? "");
  }

  /** @throws ComputeError when an address is in use */
  async add(proxy: ComputeProxy, { id: endpointId, host }: Pick<EndpointRecord, "id" | "host">): Promise<void> {
    const pooled = pooledAddress(host);
    if (pooled === undefined) return;
    await this.#listen(proxy, host, { endpointId, isPooled: false });
    await this.#listen(proxy, pooled, { endpointId, isPooled: true });
  }

  async #listen(proxy: ComputeProxy, host: string, name: EndpointName): Promise<void> {
    const isListening = this.#endpoints.has(host);
    // After a reset, the same address may belong to another endpoint.
    this.#endpoints.set(host, name);
    if (isListening) return;
    try {
      await proxy.listen(this.#port, host);
    } catch (error) {
      this.#endpoints.delete(host);
      const remedy = "end the program that listens there, or use another directory with --data";
      throw new ComputeError(`the endpoint's address ${host}:${this.#port} is in use; ${remedy}`, { cause: error });
    }
  }

  /** Open connections stay. */
  drop(proxy: ComputeProxy, isThere: (endpointId: string) => boolean): void {
    for (const [host, { endpointId }] of this.#endpoints) {
      if (isThere(endpointId)) continue;
      this.#endpoints.delete(host);
      proxy.leave(host);
    }
  }
}
