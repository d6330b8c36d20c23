/** The API key of one control plane, as its Secret has it. */
import type { KeySource } from "../control-plane/key-source.ts";
import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { SecretsReading } from "./plane-secrets.ts";

/** What reading the key needs. */
export interface PlaneKeyOptions {
  readonly clock: Clock;
  /** Reads the Secrets now; `undefined`: no usable spec names any. Never throws. */
  readonly read: () => Promise<SecretsReading | undefined>;
  /** Whether a key that vanished counts on: its namespace is being deleted, and the right to its Secrets went first. */
  readonly isKeptInMemory: () => boolean;
  /** The key is another one, or came or went. Must not throw. */
  readonly onChange: () => void;
  /** Sees each key, for instance to keep it out of logs. */
  readonly onKey: (key: string) => void;
}

/** The Secret is read again after this time, and at once after a refusal. */
const readAgainMs = 60_000;
/** While the key is refused, another one is looked for this often. */
const refusedAgainMs = 5_000;
/** Without an answer of the API server it is read again after this time. */
const unansweredAgainMs = 5_000;

/** Gives the key to the client, and reads its Secret again when it is old or was refused. */
export class PlaneKey implements KeySource {
  readonly #options: PlaneKeyOptions;
  #known: SecretsReading | undefined;
  #refusedKey: string | undefined;
  #nextReadMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(options: PlaneKeyOptions) {
    this.#options = options;
  }

  /** What the last read gave; `undefined`: nothing was read yet, or no usable spec names a Secret. */
  get known(): SecretsReading | undefined {
    return this.#known;
  }

  /** @throws ControlPlaneError `Unauthorized`, effect `NotApplied`, when there is no key. Its text names no Secret. */
  async current(): Promise<string> {
    const isRefused = this.#known?.kind === "Read" && this.#known.key === this.#refusedKey;
    const reading = await this.read(isRefused ? refusedAgainMs : undefined);
    if (reading?.kind !== "Read") {
      throw new ControlPlaneError("Unauthorized", "the control plane has no usable API key", { effect: "NotApplied" });
    }
    return reading.key;
  }

  /** The control plane refused this key: the next call reads the Secret first. */
  refused(key: string): void {
    this.#refusedKey = key;
    if (this.#known?.kind === "Read" && this.#known.key === key) {
      this.#nextReadMs = Number.NEGATIVE_INFINITY;
    }
  }

  /** The Secrets as they are known, read again if that is `maxAgeMs` or longer ago. @param maxAgeMs @default a minute */
  async read(maxAgeMs: number = readAgainMs): Promise<SecretsReading | undefined> {
    if (this.#options.clock.monotonicMs() >= this.#nextReadMs - readAgainMs + maxAgeMs) {
      this.#reading ??= this.#refresh().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
    return this.#known;
  }

  /** Forgets what was read, because spec names other Secrets by now. */
  forget(): void {
    this.#nextReadMs = Number.NEGATIVE_INFINITY;
  }

  async #refresh(): Promise<void> {
    const { clock, read, isKeptInMemory, onChange, onKey } = this.#options;
    // Set before the read, so that a refusal or another spec meanwhile has the Secret read once more.
    this.#nextReadMs = clock.monotonicMs() + readAgainMs;
    const before = this.#known;
    const reading = await read();
    const isGone = reading?.kind === "Refused" && isKeptInMemory();
    if (before?.kind === "Read" && (reading?.kind === "Unanswered" || isGone)) {
      this.#nextReadMs = Math.min(this.#nextReadMs, clock.monotonicMs() + unansweredAgainMs);
      return;
    }
    if (reading?.kind === "Unanswered") {
      this.#nextReadMs = Math.min(this.#nextReadMs, clock.monotonicMs() + unansweredAgainMs);
    }
    this.#known = reading;
    if (reading?.kind === "Read") {
      onKey(reading.key);
    }
    if (markOf(before) !== markOf(reading)) {
      onChange();
    }
  }
}

/** What matters to the resources that use the key. */
function markOf(reading: SecretsReading | undefined): string {
  return reading?.kind === "Read" ? JSON.stringify([reading.key, reading.authority]) : (reading?.kind ?? "None");
}
