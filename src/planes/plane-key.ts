/** Reads the API key and the certificate authority of one control plane from its Secrets. */

import { isApiKey, type KeySource } from "../control-plane/key-source.ts";
import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import {
  allowSecretsCommand,
  KubernetesError,
  type ResourceKey,
  type SecretStore,
  type StoredSecret,
} from "../domain/resource-store.ts";
import type { PlaneReason } from "../resource/conditions.ts";
import { type PlaneResource, secretPlace } from "../resource/control-plane-resource.ts";
import type { ControlPlaneSpec, SecretRef } from "../resource/control-plane-schema.ts";

/** The result of one attempt to read the Secrets of a control plane. */
export type SecretsSnapshot =
  | {
      readonly kind: "Read";
      readonly key: string;
      readonly authority: string | undefined;
      readonly secret: StoredSecret;
    }
  /** A person must act. `message` names the Secret, so only people who may see the control plane may read it. */
  | { readonly kind: "Refused"; readonly reason: PlaneReason; readonly message: string }
  /** The API server gave no usable answer. A key that was read before stays in use. */
  | { readonly kind: "Unanswered"; readonly message: string };

/** Returns the name of a Secret for messages. */
export function secretName({ namespace, name }: ResourceKey): string {
  return `Secret ${namespace}/${name}`;
}

interface ValuePlace {
  readonly secret: ResourceKey;
  readonly key: string;
  readonly account: string;
}

/** Why a value cannot be used, and what to do. */
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

/** Reads the Secrets that a control plane names. An expected error is not thrown but returned as a result. */
export async function readPlaneSecrets(
  secrets: Pick<SecretStore, "read" | "account">,
  resource: PlaneResource,
  { apiKeySecretRef, connection }: Pick<ControlPlaneSpec, "apiKeySecretRef" | "connection">,
): Promise<SecretsSnapshot> {
  const placeOf = (ref: SecretRef) => {
    return { secret: secretPlace(resource, ref), key: ref.key, account: secrets.account };
  };
  try {
    const place = placeOf(apiKeySecretRef);
    const { text, secret } = await readValue(secrets, place);
    const key = text.trim();
    if (!isApiKey(key)) {
      throw new ValueError("SecretInvalid", place);
    }
    const authorityPlace = connection?.caSecretRef && placeOf(connection.caSecretRef);
    const authority = authorityPlace && (await readValue(secrets, authorityPlace)).text;
    if (authorityPlace !== undefined && !authority?.includes("-----BEGIN CERTIFICATE-----")) {
      throw new ValueError("CertificateAuthorityMissing", authorityPlace);
    }
    return { kind: "Read", key, authority, secret };
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

async function readValue(secrets: Pick<SecretStore, "read">, place: ValuePlace) {
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
  return { text, secret };
}

/** How one `PlaneKey` reads its Secrets, and its callbacks. */
export interface PlaneKeyOptions {
  readonly clock: Clock;
  /** Reads the Secrets now; `undefined`: there is no valid spec that names any. Never throws. */
  readonly read: () => Promise<SecretsSnapshot | undefined>;
  /**
   * Whether a key that can no longer be read stays in use. That is so while the namespace of its Secret is being
   * deleted, because the operator's right to read Secrets there may be gone already.
   */
  readonly isKeptInMemory: () => boolean;
  /** Called when the key or the certificate authority has changed, appeared or disappeared. Must not throw. */
  readonly onChange: () => void;
  readonly onKey: (key: string) => void;
}

/**
 * The Secrets are read again this many milliseconds after the last read. After the first refusal of a key they are read
 * at once.
 */
const readAgainMs = 60_000;
/** While the control plane refuses the key, the Secrets are read again at this interval, in milliseconds. */
const refusedAgainMs = 5_000;
/**
 * If the API server gives no answer, or a key stays in use although it can no longer be read, the Secrets are read
 * again after this many milliseconds.
 */
const unansweredAgainMs = 5_000;

/** Returns the key to the client, and reads its Secret again when the key is old or was refused. */
export class PlaneKey implements KeySource {
  readonly #options: PlaneKeyOptions;
  #known: SecretsSnapshot | undefined;
  #refusedKey: string | undefined;
  #nextReadMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(options: PlaneKeyOptions) {
    this.#options = options;
  }

  /**
   * The result of the last read, or an earlier one whose key stays in use. `undefined`: nothing was read yet, or no
   * valid spec names a Secret.
   */
  get known(): SecretsSnapshot | undefined {
    return this.#known;
  }

  /**
   * Returns the key.
   * @throws ControlPlaneError `Unauthorized`, effect `NotApplied`, when there is no usable key. The text of the error
   *   names no Secret.
   */
  async current(): Promise<string> {
    const isRefused = this.#known?.kind === "Read" && this.#known.key === this.#refusedKey;
    const snapshot = await this.read(isRefused ? refusedAgainMs : undefined);
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
    this.#refusedKey = key;
    if (this.#known?.kind === "Read" && this.#known.key === key) {
      this.#nextReadMs = Number.NEGATIVE_INFINITY;
    }
  }

  /**
   * Returns the result of the last read of the Secrets. If that read is `maxAgeMs` or longer ago, or the Secrets may
   * have changed since, they are read again first.
   * @param maxAgeMs @default one minute
   */
  async read(maxAgeMs: number = readAgainMs): Promise<SecretsSnapshot | undefined> {
    if (this.#options.clock.monotonicMs() >= this.#nextReadMs - readAgainMs + maxAgeMs) {
      this.#reading ??= this.#refresh().finally(() => {
        this.#reading = undefined;
      });
    }
    await this.#reading;
    return this.#known;
  }

  /** Makes the next call read the Secret again, because the Secret may have changed. */
  forget(): void {
    this.#nextReadMs = Number.NEGATIVE_INFINITY;
  }

  async #refresh(): Promise<void> {
    const { clock, read, isKeptInMemory, onChange, onKey } = this.#options;
    // The time is set before the read. A refusal or another spec during the read then causes one more read.
    this.#nextReadMs = clock.monotonicMs() + readAgainMs;
    const before = this.#known;
    const snapshot = await read();
    const isGone = snapshot?.kind === "Refused" && isKeptInMemory();
    const isKept = before?.kind === "Read" && (snapshot?.kind === "Unanswered" || isGone);
    if (isKept || snapshot?.kind === "Unanswered") {
      this.#nextReadMs = Math.min(this.#nextReadMs, clock.monotonicMs() + unansweredAgainMs);
    }
    if (isKept) {
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

/** Returns a text that changes if the key, the certificate authority or the kind of the result changes. */
function markOf(snapshot: SecretsSnapshot | undefined): string {
  return snapshot?.kind === "Read" ? JSON.stringify([snapshot.key, snapshot.authority]) : (snapshot?.kind ?? "None");
}
