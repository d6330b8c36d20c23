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

const fileOfKey = "the file named by CONTROL_PLANE_API_KEY_FILE";
const readIntervalMs = 1_000;

/** A file is read again after a second, when the key is asked for. @throws ControlPlaneError for a text that is no key */
export function createKeySource(
  options: { readonly key: string } | { readonly file: string; readonly clock: Clock },
): KeySource {
  if ("key" in options) {
    const fixed = checkedKey(options.key, "the API key of the settings");
    return { current: async () => fixed };
  }
  const { file, clock } = options;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let key: Promise<string> | undefined;
  return {
    current() {
      if (key === undefined || clock.monotonicMs() - readAtMs >= readIntervalMs) {
        readAtMs = clock.monotonicMs();
        key = readKey(file);
      }
      return key;
    },
  };
}

async function readKey(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw noKey(`${fileOfKey} cannot be read (${error.code ?? "unknown error"})`, error);
  });
  return checkedKey(text, fileOfKey);
}

/** @param where where the key was read, for the message. @throws ControlPlaneError `Unauthorized` */
function checkedKey(text: string, where: string): string {
  const key = withoutLineBreak(text);
  if (!isApiKey(key)) {
    throw noKey(`${where} ${key === "" ? "is empty" : "contains characters that a key cannot have"}`);
  }
  return key;
}

/** A tenant chooses the text, and the operator keeps the key in memory, so its length is limited. */
export function isApiKey(text: string): boolean {
  return /^[\x21-\x7e]{1,4096}$/.test(text);
}

function noKey(why: string, cause?: unknown): ControlPlaneError {
  return new ControlPlaneError("Unauthorized", `no API key: ${why}`, { effect: "NotApplied", cause });
}
