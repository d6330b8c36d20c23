import { readFile, stat } from "node:fs/promises";
import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";

/** Where the API key comes from. */
export interface KeySource {
  /**
   * The key as of now.
   *
   * @throws ControlPlaneError `Unauthorized`, effect `NotApplied`, when there is none.
   */
  current(): Promise<string>;
}

/** One of a fixed key and a file. */
type KeySourceOptions =
  | { readonly key: string }
  | {
      readonly file: string;
      readonly clock: Clock;
      /** How the file's setting is called, for messages. @default "CONTROL_PLANE_API_KEY_FILE" */
      readonly settingName?: string;
      /** The file is looked at no more often than this. @default 1000 */
      readonly checkIntervalMs?: number;
    };

/** Gives the key of the settings. A file is read again whenever it changes; white space around the key is dropped. */
export function createKeySource(options: KeySourceOptions): KeySource {
  if ("file" in options) {
    return fileKeySource(options);
  }
  const key = checkedKey(options.key, "the API key of the settings");
  return { current: async () => key };
}

type FileOptions = Extract<KeySourceOptions, { readonly file: string }>;

/** What the last look at the file gave. A failure has no fingerprint, so that the next look reads the file. */
type Look =
  | { readonly atMs: number; readonly fingerprint: string; readonly key: string }
  | { readonly atMs: number; readonly fingerprint: undefined; readonly error: ControlPlaneError };

function fileKeySource(options: FileOptions): KeySource {
  const { file, clock, settingName = "CONTROL_PLANE_API_KEY_FILE", checkIntervalMs = 1_000 } = options;
  let last: Look | undefined;
  let looking: Promise<Look> | undefined;

  async function look(): Promise<Look> {
    const atMs = clock.monotonicMs();
    try {
      const fingerprint = await fingerprintOf(file);
      if (last?.fingerprint === fingerprint) {
        return { ...last, atMs };
      }
      const key = checkedKey(await readFile(file, "utf8"), `the file named by ${settingName}`);
      return { atMs, fingerprint, key };
    } catch (error) {
      return { atMs, fingerprint: undefined, error: asKeyError(error, settingName) };
    }
  }

  return {
    current: async () => {
      if (last === undefined || clock.monotonicMs() - last.atMs >= checkIntervalMs) {
        looking ??= look().finally(() => {
          looking = undefined;
        });
        last = await looking;
      }
      if (last.fingerprint === undefined) {
        throw last.error;
      }
      return last.key;
    },
  };
}

/** Follows symbolic links: Kubernetes swaps a link to change a mounted Secret. */
async function fingerprintOf(file: string): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}

/**
 * Checks what was read as a key.
 *
 * @param where the key was read, for the message.
 * @returns the key without white space around it.
 * @throws ControlPlaneError `Unauthorized`, effect `NotApplied`, when it is empty or holds characters that a key cannot have.
 */
function checkedKey(text: string, where: string): string {
  const key = text.trim();
  if (key === "") {
    throw keyError(`no API key: ${where} is empty`);
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw keyError(`no API key: ${where} holds characters that a key cannot have`);
  }
  return key;
}

function asKeyError(error: unknown, settingName: string): ControlPlaneError {
  if (error instanceof ControlPlaneError) {
    return error;
  }
  const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
  return keyError(`no API key: the file named by ${settingName} cannot be read (${code})`, error);
}

function keyError(message: string, cause?: unknown): ControlPlaneError {
  return new ControlPlaneError("Unauthorized", message, { effect: "NotApplied", cause });
}

/** How a key is read where it is changed first. */
interface FreshKeyOptions {
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
