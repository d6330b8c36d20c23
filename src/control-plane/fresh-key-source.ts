import type { Clock } from "../domain/clock.ts";
import { checkedKey, type KeySource } from "./key-source.ts";

/** How a key is read where it is changed first. */
export interface FreshKeyOptions {
  /** Reads the key at its origin, for instance the Secret; `undefined` when it is not there. It may throw anything. */
  readonly read: () => Promise<string | undefined>;
  /** Used while the origin cannot be read: the mounted file, which follows more slowly. */
  readonly fallback: KeySource;
  readonly clock: Clock;
  /** Is called once each time the origin can no longer be read. */
  readonly onFailure: (error: unknown) => void;
  /** The origin is read no more often than this, and only when a key is asked for. @default 1000 */
  readonly intervalMs?: number;
  /** After a failure the origin is read again after this time. @default 30_000 */
  readonly retryMs?: number;
}

/**
 * Gives the key as its origin has it, and the fallback's while the origin cannot be read.
 *
 * A mounted Secret follows a change after a minute or more; reading the Secret itself takes at most a second.
 */
export function createFreshKeySource(options: FreshKeyOptions): KeySource {
  const { read, fallback, clock, onFailure, intervalMs = 1_000, retryMs = 30_000 } = options;
  let known: string | undefined;
  let hasFailed = false;
  let nextReadMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    try {
      const text = await read();
      known = text === undefined ? undefined : checkedKey(text, "the Secret");
      hasFailed = false;
      nextReadMs = clock.monotonicMs() + intervalMs;
    } catch (error) {
      known = undefined;
      nextReadMs = clock.monotonicMs() + retryMs;
      if (!hasFailed) onFailure(error);
      hasFailed = true;
    }
  }

  return {
    current: async () => {
      if (clock.monotonicMs() >= nextReadMs) {
        reading ??= refresh().finally(() => {
          reading = undefined;
        });
        await reading;
      }
      return known ?? (await fallback.current());
    },
  };
}
