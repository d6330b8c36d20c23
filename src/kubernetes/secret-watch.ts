/** Follows one value of one Secret. */
import type { Clock } from "../domain/clock.ts";
import { KubernetesError, type ResourceKey } from "../domain/resource-store.ts";
import { pause } from "../http/call-deadline.ts";
import type { KubernetesConnection } from "./http/connection.ts";
import { objectPath, readObject } from "./http/objects.ts";
import { parseSecret } from "./store/secret-store.ts";
import { createListWatch, type WatchEvent } from "./watch/list-watch.ts";
import { createRelistBackoff, defaultTiming, followWatch } from "./watch/reflector-parts.ts";

/** The current value of one key of a Secret, kept up to date by a watch. */
export interface SecretWatch {
  start(): void;
  /** Resolves when the watch has ended. */
  stop(): Promise<void>;
  /**
   * Resolves when the first read has ended, whether it found a value or not, or when the watch is stopped. Never
   * rejects.
   */
  readonly firstRead: Promise<void>;
  /** Returns the present value. `undefined`: the Secret or its value does not exist, or the last read failed. */
  value(): string | undefined;
}

/** The value to watch, the connection to use, and the callback on failure. */
export interface SecretWatchOptions {
  readonly connection: KubernetesConnection;
  /** The Secret, and the key of the value inside it. */
  readonly address: ResourceKey & { readonly key: string };
  readonly clock: Clock;
  /** Returns a random number from 0 up to 1. */
  readonly random: () => number;
  /**
   * Called when a read or the watch fails, or when the Secret or its value is missing. It is not called again until the
   * watch has shown a value.
   */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Watches one Secret. It needs the rights `get` and `watch` on this Secret only.
 * Guarantees: no error stops it before `stop()`; a permanent failure costs a few requests a minute.
 */
export function createSecretWatch(options: SecretWatchOptions): SecretWatch {
  const { connection, address, clock, random } = options;
  const { namespace, name, key } = address;
  const { openTimeoutMs, pageTimeoutMs: listTimeoutMs } = defaultTiming;
  const what = `Secret ${namespace}/${name}`;
  const valueIn = (secret: unknown) => parseSecret(`read ${what}`, address, secret).data[key];
  const listWatch = createListWatch({
    ...{ connection, path: objectPath("secrets", namespace), query: { fieldSelector: `metadata.name=${name}` } },
    ...{ what, openTimeoutMs, listTimeoutMs },
  });
  const stopping = new AbortController();
  const firstRead = Promise.withResolvers<void>();
  const backoff = createRelistBackoff({ clock, random });
  let value: string | undefined;
  let running: Promise<void> | undefined;
  let hasFailed = false;

  const fail = (error: unknown) => {
    if (!hasFailed && !stopping.signal.aborted) options.onFailure(error);
    hasFailed = true;
  };
  const read = async () => {
    try {
      const found = await readObject(connection, what, objectPath("secrets", namespace, name), timeoutMs);
      value = found === undefined ? undefined : valueIn(found);
      // A missing Secret or value is reported and not thrown: the watch shows it as soon as it is created.
      const problem = found === undefined ? "does not exist" : `has no value ${key}`;
      if (value === undefined) fail(new KubernetesError("NotFound", `${what} ${problem}`));
    } catch (error) {
      value = undefined;
      throw error;
    }
  };
  const onEvent = ({ type, object }: WatchEvent) => {
    if (type === "ERROR") throw new KubernetesError("Unavailable", "the API server ended the watch with an error");
    if (type === "BOOKMARK") return;
    value = type === "DELETED" ? undefined : valueIn(object);
    hasFailed = value === undefined;
  };
  // Each watch begins at the present state, because the version of a long unchanged Secret is too old to resume from.
  const watch = { listWatch, clock, random, timing: defaultTiming, resourceVersion: "", signal: stopping.signal };
  const run = async () => {
    while (!stopping.signal.aborted) {
      try {
        await read();
        firstRead.resolve();
        await followWatch({ ...watch, onEvent });
      } catch (error) {
        fail(error);
        firstRead.resolve();
      }
      await pause(clock, backoff(), [stopping.signal]);
    }
  };
  return {
    firstRead: firstRead.promise,
    value: () => value,
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort();
      firstRead.resolve();
      await running;
    },
  };
}

/**
 * The time limit of one read, in milliseconds. A slow API server must not delay a call to the control plane for long.
 */
const timeoutMs = 2_000;
