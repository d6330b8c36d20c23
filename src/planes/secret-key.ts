/** Reads the API key, and the certificate authority of the databases, of one control plane from Secrets. */

import { isApiKey, type KeySource } from "../control-plane/key-source.ts";
import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { allowSecretsCommand, KubernetesError, type ResourceKey, type SecretStore } from "../domain/resource-store.ts";
import { withoutLineBreak } from "../domain/without-line-break.ts";
import type { PlaneReason } from "../resource/conditions.ts";

export type SecretsSnapshot =
  | {
      readonly kind: "Read";
      readonly key: string;
      readonly authority: string | undefined;
      /** Why a later read found no key, so that this one is used on; `undefined`: the last read found it. */
      readonly problem?: string | undefined;
    }
  /** A person must act. `message` names the Secret, so only people who may see the control plane may read it. */
  | { readonly kind: "Refused"; readonly reason: PlaneReason; readonly message: string }
  /** The API server gave no usable answer. A key that was read before stays in use. */
  | { readonly kind: "Unanswered"; readonly message: string };

export function secretName({ namespace, name }: ResourceKey): string {
  return `Secret ${namespace}/${name}`;
}

export interface SecretEntry {
  readonly secret: ResourceKey;
  readonly key: string;
}

interface ValuePlace extends SecretEntry {
  readonly account: string;
}

const refusals = {
  SecretForbidden: ({ secret, account }: ValuePlace) =>
    `The operator may not read ${secretName(secret)}. Allow it with: ${allowSecretsCommand(secret.namespace, account)}`,
  SecretNotFound: ({ secret, key }: ValuePlace) =>
    `There is no ${secretName(secret)}. Create it with the key ${key}; the operator checks again within a minute.`,
  SecretKeyNotFound: ({ secret, key }: ValuePlace) =>
    `${secretName(secret)} has no key ${key}. Add the key, or correct spec; the operator checks again within a minute.`,
  SecretInvalid: ({ secret, key }: ValuePlace) =>
    `The value of ${key} in ${secretName(secret)} is empty or holds characters that an API key cannot have. Correct the value; the operator checks again within a minute.`,
  CertificateAuthorityMissing: ({ secret, key }: ValuePlace) =>
    `The value of ${key} in ${secretName(secret)} is not a PEM certificate. Correct the value; the operator checks again within a minute.`,
} satisfies Partial<Record<PlaneReason, (place: ValuePlace) => string>>;

class ValueError extends Error {
  readonly reason: keyof typeof refusals;

  constructor(reason: keyof typeof refusals, place: ValuePlace) {
    super(refusals[reason](place));
    this.reason = reason;
  }
}

export interface PlaneSecrets {
  readonly apiKey: SecretEntry;
  readonly authority?: SecretEntry | undefined;
}

/** Reads the Secrets of a control plane. An expected error is not thrown but returned as a result. */
export async function readPlaneSecrets(
  secrets: Pick<SecretStore, "read" | "account">,
  { apiKey, authority: authorityEntry }: PlaneSecrets,
): Promise<SecretsSnapshot> {
  const { account } = secrets;
  try {
    const key = withoutLineBreak(await readValue(secrets, { ...apiKey, account }));
    if (!isApiKey(key)) {
      throw new ValueError("SecretInvalid", { ...apiKey, account });
    }
    const authority = authorityEntry && (await readValue(secrets, { ...authorityEntry, account }));
    if (authorityEntry !== undefined && !authority?.includes("-----BEGIN CERTIFICATE-----")) {
      throw new ValueError("CertificateAuthorityMissing", { ...authorityEntry, account });
    }
    return { kind: "Read", key, authority };
  } catch (error) {
    if (error instanceof ValueError) {
      return { kind: "Refused", reason: error.reason, message: error.message };
    }
    if (error instanceof KubernetesError) {
      return { kind: "Unanswered", message: error.message };
    }
    throw error;
  }
}

async function readValue(secrets: Pick<SecretStore, "read">, place: ValuePlace): Promise<string> {
  const secret = await secrets.read(place.secret).catch((error: unknown) => {
    const isForbidden = error instanceof KubernetesError && error.reason === "Forbidden";
    throw isForbidden ? new ValueError("SecretForbidden", place) : error;
  });
  if (secret === undefined) {
    throw new ValueError("SecretNotFound", place);
  }
  const text = Object.hasOwn(secret.data, place.key) ? secret.data[place.key] : undefined;
  if (text === undefined) {
    throw new ValueError("SecretKeyNotFound", place);
  }
  return text;
}

export interface SecretKeyOptions {
  readonly clock: Clock;
  /** Reads the Secrets now; `undefined`: there is no valid spec that names any. Never throws. */
  readonly read: () => Promise<SecretsSnapshot | undefined>;
  /** Called when the key or the certificate authority has changed, appeared or disappeared. Must not throw. */
  readonly onChange: () => void;
  readonly onKey: (key: string) => void;
}

/** A key that is not refused is read again this many milliseconds after the last read. */
const readAgainMs = 60_000;
/** Without a key, or with a refused one, a read follows this many milliseconds after the last one. */
const keylessAgainMs = 5_000;

/** The Secret is read every minute, and after a refusal. A read without a key leaves the last one until a refusal. */
export class SecretKey implements KeySource {
  readonly #options: SecretKeyOptions;
  #known: SecretsSnapshot | undefined;
  #refusedKey: string | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(options: SecretKeyOptions) {
    this.#options = options;
  }

  /** `undefined`: nothing was read yet, or no valid spec names a Secret. */
  get known(): SecretsSnapshot | undefined {
    return this.#known;
  }

  /** @throws ControlPlaneError `Unauthorized`, effect `NotApplied`; its text names no Secret */
  async current(): Promise<string> {
    const snapshot = await this.read();
    if (snapshot?.kind !== "Read") {
      throw new ControlPlaneError("Unauthorized", "the control plane has no usable API key", { effect: "NotApplied" });
    }
    // The key is reported at every use, so that logs leave it out: it may be in use long after the last answer of the
    // API server.
    this.#options.onKey(snapshot.key);
    return snapshot.key;
  }

  /** Notes that the control plane refused this key. The next call reads the Secret first. */
  refused(key: string): void {
    if (this.#known?.kind === "Read" && this.#known.key === key && this.#refusedKey !== key) {
      this.#refusedKey = key;
      this.forget();
    }
  }

  /** Returns the key in use, or why there is none. The Secrets are read again first if it is time. */
  async read(): Promise<SecretsSnapshot | undefined> {
    const ageMs = this.#options.clock.monotonicMs() - this.#readAtMs;
    if (ageMs >= (this.#hasGoodKey() ? readAgainMs : keylessAgainMs)) {
      this.#reading ??= this.#refresh().finally(() => {
        this.#reading = undefined;
      });
    }
    await this.#reading;
    return this.#known;
  }

  /** Makes the next call read the Secret again, because a person asks for it. */
  forget(): void {
    this.#readAtMs = Number.NEGATIVE_INFINITY;
  }

  #hasGoodKey(): boolean {
    return this.#known?.kind === "Read" && this.#known.key !== this.#refusedKey;
  }

  async #refresh(): Promise<void> {
    const { clock, read, onChange, onKey } = this.#options;
    // The time is noted before the read. A refusal or another spec during the read then causes one more read.
    this.#readAtMs = clock.monotonicMs();
    const before = this.#known;
    const snapshot = await read();
    if (before?.kind === "Read" && snapshot?.kind === "Unanswered") {
      return;
    }
    if (before?.kind === "Read" && snapshot?.kind === "Refused" && this.#hasGoodKey()) {
      this.#known = { ...before, problem: snapshot.message };
      return;
    }
    this.#known = snapshot;
    if (snapshot?.kind === "Read") {
      onKey(snapshot.key);
    }
    if (markOf(before) !== markOf(snapshot)) {
      onChange();
    }
  }
}

function markOf(snapshot: SecretsSnapshot | undefined): string {
  return snapshot?.kind === "Read" ? JSON.stringify([snapshot.key, snapshot.authority]) : (snapshot?.kind ?? "None");
}
