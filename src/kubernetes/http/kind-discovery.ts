import type { Clock } from "../../domain/clock.ts";
import { KubernetesError } from "../../domain/resource-store.ts";
import { group, version } from "../../resource/names.ts";
import type { KubernetesConnection } from "./connection.ts";

/** What to search for, and what to call when it is found. */
export interface KindDiscoveryOptions {
  readonly connection: KubernetesConnection;
  readonly clock: Clock;
  readonly plural: string;
  /** Called once, when the API server serves the kind. Must not throw. */
  readonly onServed: () => void;
  /** Called each time the API server answers that it does not serve the kind. Must not throw. */
  readonly onAbsent: () => void;
}

/** The interval between two checks whether the API server serves the kind, in milliseconds. */
const askAgainMs = 30_000;
const askTimeoutMs = 8_000;

/**
 * Waits until the API server serves a kind whose CRD may be installed later. @returns a function that ends the search
 */
export function discoverKind(options: KindDiscoveryOptions): { readonly stop: () => void } {
  const { clock, onServed, onAbsent } = options;
  let timer: ReturnType<Clock["after"]> | undefined;
  let isStopped = false;
  const ask = async () => {
    // An API server that does not answer counts as one that does not serve the kind yet.
    const isServed = await isKindServed(options.connection, options.plural).catch(() => undefined);
    if (isStopped) {
      return;
    }
    if (isServed) {
      onServed();
    } else {
      if (isServed === false) {
        onAbsent();
      }
      timer = clock.after(askAgainMs, () => void ask());
    }
  };
  void ask();
  return {
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}

/** Whether the API server serves a kind now. @throws KubernetesError when it does not answer */
export async function isKindServed(connection: KubernetesConnection, plural: string): Promise<boolean> {
  const what = `find the kinds of ${group}`;
  const path = `/apis/${group}/${version}`;
  try {
    const answer = await connection.request({ what, method: "GET", path, timeoutMs: askTimeoutMs });
    const { resources } = (answer ?? {}) as { readonly resources?: readonly { readonly name?: unknown }[] };
    return Array.isArray(resources) && resources.some(({ name }) => name === plural);
  } catch (error) {
    if (error instanceof KubernetesError && error.reason === "NotFound") {
      return false;
    }
    throw error;
  }
}
