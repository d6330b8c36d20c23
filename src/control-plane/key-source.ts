/** The sources of the API key: a text, a file, or a watched Secret. */
import { readFile } from "node:fs/promises";
import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";

/** The source of the API key. */
export interface KeySource {
  /**
   * Returns the present API key.
   * @throws ControlPlaneError `Unauthorized`, effect `NotApplied`, when there is none.
   */
  current(): Promise<string>;
  /** Reports that the control plane refused this key (401). From now on the source returns another one, if it can. */
  refused?(key: string): void;
}

/** The source of the key: a fixed text or a file. */
type KeySourceOptions = { readonly key: string } | { readonly file: string; readonly clock: Clock };

/** The name of the file in error messages. */
const fileOfKey = "the file named by CONTROL_PLANE_API_KEY_FILE";
/** The minimum interval between two reads of the file, in milliseconds. */
const readIntervalMs = 1_000;

/**
 * Makes a source that returns the key of the settings. A file is read again after a second, when the key is asked for.
 */
export function createKeySource(options: KeySourceOptions): KeySource {
  if ("file" in options) {
    return fileKeySource(options);
  }
  const key = checkedKey(options.key, "the API key of the settings");
  return { current: async () => key };
}

function fileKeySource({ file, clock }: Extract<KeySourceOptions, { readonly file: string }>): KeySource {
  let readAtMs = Number.NEGATIVE_INFINITY;
  let key: Promise<string> | undefined;

  const readKey = async () => {
    try {
      return checkedKey(await readFile(file, "utf8"), fileOfKey);
    } catch (error) {
      throw asKeyError(error);
    }
  };
  return {
    current() {
      if (key === undefined || clock.monotonicMs() - readAtMs >= readIntervalMs) {
        readAtMs = clock.monotonicMs();
        key = readKey();
      }
      return key;
    },
  };
}

/**
 * Checks that a text can be an API key.
 * @param where where the key was read, for the message.
 * @returns the key without white space around it.
 * @throws ControlPlaneError `Unauthorized`, effect `NotApplied`, when the key is empty or has characters that a key
 *   cannot have.
 */
function checkedKey(text: string, where: string): string {
  const key = text.trim();
  if (key === "") {
    throw keyError(`no API key: ${where} is empty`);
  }
  if (!isApiKey(key)) {
    throw keyError(`no API key: ${where} contains characters that a key cannot have`);
  }
  return key;
}

/**
 * Whether a text can be sent as an API key: it has 1 to 4,096 printable ASCII characters, no space. A tenant chooses
 * the text, and the operator keeps the key in memory, so its length is limited.
 */
export function isApiKey(text: string): boolean {
  return /^[\x21-\x7e]{1,4096}$/.test(text);
}

function asKeyError(error: unknown): ControlPlaneError {
  if (error instanceof ControlPlaneError) {
    return error;
  }
  const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
  return keyError(`no API key: ${fileOfKey} cannot be read (${code})`, error);
}

function keyError(message: string, cause?: unknown): ControlPlaneError {
  return new ControlPlaneError("Unauthorized", message, { effect: "NotApplied", cause });
}

/** The watched Secret that holds the key, the file that is read without a usable Secret, and a callback. */
interface SecretKeyOptions {
  /** The watched Secret. Its value is `undefined` if it does not exist or cannot be read now. */
  readonly secret: { readonly firstRead: Promise<void>; value(): string | undefined };
  /** The mounted file. It follows a change of the Secret after a minute or more. */
  readonly fallback: KeySource;
  /** Called once for each text of the Secret that cannot be a key. */
  readonly onUnusable: (error: unknown) => void;
}

/**
 * Makes a source that returns the key of a watched Secret. While the Secret has no usable key or cannot be read, it
 * returns the last key that the Secret had. If there is none, or the control plane has refused that key, it returns the
 * key of the file.
 */
export function createSecretKeySource({ secret, fallback, onUnusable }: SecretKeyOptions): KeySource {
  let known: { readonly text: string; readonly key: string | undefined } | undefined;
  let lastKey: string | undefined;
  let refusedKey: string | undefined;

  const keyNow = () => {
    const text = secret.value();
    if (text === undefined) return undefined;
    if (known?.text !== text) {
      known = { text, key: usableKey(text, onUnusable) };
      lastKey = known.key ?? lastKey;
    }
    return known.key;
  };
  return {
    current: async () => {
      await secret.firstRead;
      const key = keyNow() ?? (lastKey === refusedKey ? undefined : lastKey);
      return key ?? (await fallback.current());
    },
    refused(key) {
      refusedKey = key;
    },
  };
}

function usableKey(text: string, onUnusable: (error: unknown) => void): string | undefined {
  try {
    return checkedKey(text, "the Secret");
  } catch (error) {
    onUnusable(error);
    return undefined;
  }
}
