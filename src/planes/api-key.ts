/** The API key of one control plane: where it is read, and which one is in use. */
import { isApiKey, type KeySource } from "../control-plane/call.ts";
import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { allowSecretsCommand, KubernetesError, type ResourceKey, type SecretStore } from "../domain/resource-store.ts";
import { withoutLineBreak } from "../domain/without-line-break.ts";
import type { PlaneReason } from "../resource/conditions.ts";

export type KeyRead = (
  | {
      readonly kind: "Read";
      readonly key: string;
      /** The certificate authority of the databases as PEM, if a Secret of the control plane holds it. */
      readonly authority?: string | undefined;
    }
  /** A person must act. `message` is only for people who may see the control plane, but for the reason Unauthorized. */
  | { readonly kind: "Refused"; readonly reason: PlaneReason; readonly message: string }
  /** The API server gave no usable answer. A key that was read before stays in use. */
  | { readonly kind: "Unanswered"; readonly message: string }
) & {
  /** Why this comes from an earlier read, or from another place; `undefined`: it was found where it belongs. */
  readonly problem?: string | undefined;
};

/** Reads the key now. Never throws for an expected reason. @param before what is in use */
export type ReadKey = (before: KeyRead | undefined) => Promise<KeyRead>;

interface ApiKeyOptions {
  readonly clock: Clock;
  readonly read: ReadKey;
  /** A key that is not refused is read again this many milliseconds after the last read. */
  readonly againMs: number;
  /** Called when the key or the certificate authority has changed, appeared or disappeared. Must not throw. */
  readonly onChange: () => void;
  /** Called at every use, so that logs leave the key out. Must not throw. */
  readonly onKey: (key: string) => void;
}

/** Without a good key, a read follows at most this many milliseconds after the last one. */
const keylessAgainMs = 5_000;

/** It is read at an interval, and after a refusal. A read without a key leaves the last one until a refusal. */
export class ApiKey implements KeySource {
  readonly #options: ApiKeyOptions;
  #known: KeyRead | undefined;
  #refusedKey: string | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(options: ApiKeyOptions) {
    this.#options = options;
  }

  get known(): KeyRead | undefined {
    return this.#known;
  }

  /** @throws ControlPlaneError `Unauthorized`, effect `NotApplied`; its text names no Secret */
  async current(): Promise<string> {
    const found = await this.read();
    if (found?.kind === "Read") {
      this.#options.onKey(found.key);
      return found.key;
    }
    const isPublic = found?.kind === "Refused" && found.reason === "Unauthorized";
    const why = isPublic ? found.message : "the control plane has no usable API key";
    throw new ControlPlaneError("Unauthorized", why, { effect: "NotApplied" });
  }

  /** The control plane refused this key. The next call reads first. */
  refused(key: string): void {
    if (this.#known?.kind === "Read" && this.#known.key === key && this.#refusedKey !== key) {
      this.#refusedKey = key;
      this.forget();
    }
  }

  /** Returns the key in use, or why there is none. It is read again first if it is time. */
  async read(): Promise<KeyRead | undefined> {
    const { clock, againMs } = this.#options;
    const isGood = this.#hasAcceptedKey() && this.#known?.problem === undefined;
    if (clock.monotonicMs() - this.#readAtMs >= (isGood ? againMs : Math.min(againMs, keylessAgainMs))) {
      this.#reading ??= this.#refresh().finally(() => {
        this.#reading = undefined;
      });
    }
    await this.#reading;
    return this.#known;
  }

  /** Makes the next call read again. */
  forget(): void {
    this.#readAtMs = Number.NEGATIVE_INFINITY;
  }

  #hasAcceptedKey(): boolean {
    return this.#known?.kind === "Read" && this.#known.key !== this.#refusedKey;
  }

  async #refresh(): Promise<void> {
    // The time is noted before the read. A refusal during the read then causes one more read.
    this.#readAtMs = this.#options.clock.monotonicMs();
    const before = this.#known;
    const found = await this.#options.read(before);
    if (before?.kind === "Read" && found.kind !== "Read" && (found.kind === "Unanswered" || this.#hasAcceptedKey())) {
      this.#known = found.kind === "Refused" ? { ...before, problem: found.problem ?? found.message } : before;
      return;
    }
    this.#known = found;
    if (markOf(before) !== markOf(found)) this.#options.onChange();
  }
}

function markOf(found: KeyRead | undefined): string | undefined {
  return found?.kind === "Read" ? `${found.key} ${found.authority}` : found?.kind;
}

/** @param where where the text was found, for the message, which never contains the text */
export function keyIn(text: string, where: string): KeyRead {
  const key = withoutLineBreak(text);
  const why = key === "" ? "is empty" : "contains characters that a key cannot have";
  return isApiKey(key) ? { kind: "Read", key } : noKey(`${where} ${why}`);
}

function noKey(why: string): KeyRead {
  return { kind: "Refused", reason: "Unauthorized", message: `no API key: ${why}` };
}

const fileOfKey = "the file named by CONTROL_PLANE_API_KEY_FILE";

export function keyInFile(readText: () => Promise<string>): ReadKey {
  return async () => {
    try {
      return keyIn(await readText(), fileOfKey);
    } catch (error) {
      const { code = "unknown error" } = error as { readonly code?: string };
      return noKey(`${fileOfKey} cannot be read (${code})`);
    }
  };
}

/** @param onInstead called once for each reason why the key of the file is used */
export function keyInSecretOrFile(secret: ReadKey, file: ReadKey, onInstead: (why: string) => void): ReadKey {
  return async (before) => {
    const found = await secret(before);
    if (found.kind === "Read" || (found.kind === "Unanswered" && before?.kind === "Read")) {
      return found;
    }
    const problem = found.message;
    if (before?.problem !== problem) onInstead(problem);
    return { ...(await file(before)), problem };
  };
}

/** A Secret, and the key of its data. */
export interface SecretEntry extends ResourceKey {
  readonly key: string;
}

export type SecretReads = Pick<SecretStore, "read" | "account">;

/** A Secret is read again this many milliseconds after the last read. */
const secretAgainMs = 60_000;

/**
 * Reads the key, and the certificate authority of the databases, from Secrets.
 * @param authorityEntry `undefined`: no Secret holds the certificate authority
 */
export function keyInSecrets(secrets: SecretReads, keyEntry: SecretEntry, authorityEntry?: SecretEntry) {
  const refused = (reason: keyof typeof remedies, entry: SecretEntry): KeyRead => ({
    kind: "Refused",
    reason,
    message: remedies[reason](entry, secrets.account),
  });
  const textIn = async (entry: SecretEntry): Promise<KeyRead> => {
    try {
      const secret = await secrets.read(entry);
      const key = secret && Object.hasOwn(secret.data, entry.key) ? secret.data[entry.key] : undefined;
      const missing = secret === undefined ? "SecretNotFound" : "SecretKeyNotFound";
      return key === undefined ? refused(missing, entry) : { kind: "Read", key };
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      const { reason, message } = error;
      return reason === "Forbidden" ? refused("SecretForbidden", entry) : { kind: "Unanswered", message };
    }
  };
  const readKey: ReadKey = async () => {
    const found = await textIn(keyEntry);
    const key = found.kind === "Read" ? withoutLineBreak(found.key) : "";
    if (found.kind !== "Read" || !isApiKey(key)) {
      return found.kind === "Read" ? refused("SecretInvalid", keyEntry) : found;
    }
    const authority = authorityEntry && (await textIn(authorityEntry));
    if (authorityEntry === undefined || authority?.kind !== "Read") {
      return authority ?? { kind: "Read", key };
    }
    const isPem = authority.key.includes("-----BEGIN CERTIFICATE-----");
    return isPem
      ? { kind: "Read", key, authority: authority.key }
      : refused("CertificateAuthorityMissing", authorityEntry);
  };
  return { readKey, keyAgainMs: secretAgainMs };
}

function secretName({ namespace, name }: ResourceKey): string {
  return `Secret ${namespace}/${name}`;
}

const again = "the operator checks again within a minute.";

const remedies = {
  SecretForbidden: (entry, account) =>
    `The operator may not read ${secretName(entry)}. Allow it with: ${allowSecretsCommand(entry.namespace, account)}`,
  SecretNotFound: (entry) => `There is no ${secretName(entry)}. Create it with the key ${entry.key}; ${again}`,
  SecretKeyNotFound: (entry) => `${secretName(entry)} has no key ${entry.key}. Add the key, or correct spec; ${again}`,
  SecretInvalid: (entry) =>
    `The value of ${entry.key} in ${secretName(entry)} is empty or holds characters that an API key cannot have. Correct the value; ${again}`,
  CertificateAuthorityMissing: (entry) =>
    `The value of ${entry.key} in ${secretName(entry)} is not a PEM certificate. Correct the value; ${again}`,
} satisfies Partial<Record<PlaneReason, (entry: SecretEntry, account: string) => string>>;
