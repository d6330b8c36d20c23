/** The sources of the API key: a text or a file. `SecretKey` in `src/planes` reads it from a Secret. */
import { readFile } from "node:fs/promises";
import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { withoutLineBreak } from "../domain/without-line-break.ts";

export interface KeySource {
  /** @throws ControlPlaneError `Unauthorized`, effect `NotApplied`, when there is none */
  current(): Promise<string>;
  /** Reports that the control plane refused this key (401). From now on the source returns another one, if it can. */
  refused?(key: string): void;
}

type KeySourceOptions = { readonly key: string } | { readonly file: string; readonly clock: Clock };

const fileOfKey = "the file named by CONTROL_PLANE_API_KEY_FILE";
const readIntervalMs = 1_000;

/** A file is read again after a second, when the key is asked for. */
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

/** @param where where the key was read, for the message. @throws ControlPlaneError `Unauthorized` */
function checkedKey(text: string, where: string): string {
  const key = withoutLineBreak(text);
  if (key === "") {
    throw keyError(`no API key: ${where} is empty`);
  }
  if (!isApiKey(key)) {
    throw keyError(`no API key: ${where} contains characters that a key cannot have`);
  }
  return key;
}

/** A tenant chooses the text, and the operator keeps the key in memory, so its length is limited. */
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
