import { createHash } from "node:crypto";
import type { Clock } from "../../domain/clock.ts";
import { KubernetesError } from "../../domain/resource-store.ts";
import { createCallDeadline, untilAborted } from "../../http/call-deadline.ts";
import { createAgent, type HttpDispatcher } from "../../http/transport.ts";
import type { CredentialSource, Credentials } from "./credentials.ts";

/** Credentials that were read a short while ago, and the connections made with them. */
export interface Session {
  readonly credentials: Credentials;
  readonly dispatcher: HttpDispatcher;
  readonly transportHash: string;
  readonly readAtMs: number;
}

/** Credential files are read, and plugins run, this often at most. They know themselves when a token expires. */
const credentialsAgeMs = 10_000;

/** A credential plugin that hangs is run again after this time. Until then every call waits for it, each for its own time. */
const credentialsTimeoutMs = 30_000;

const connectTimeoutMs = 10_000;

/** The current session with one API server. */
export class Sessions {
  readonly #source: CredentialSource;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  readonly #dispatchers = new Set<HttpDispatcher>();
  #session: Session | undefined;
  #opening: Promise<Session> | undefined;
  #reloadedAtMs = Number.NEGATIVE_INFINITY;

  /** @param closing ends the reading of credentials. */
  constructor(source: CredentialSource, clock: Clock, closing: AbortSignal) {
    this.#source = source;
    this.#clock = clock;
    this.#closing = closing;
  }

  /** @throws KubernetesError `Unauthorized` when the credentials cannot be read. */
  async current(): Promise<Session> {
    const session = this.#session;
    if (session !== undefined && this.#clock.monotonicMs() - session.readAtMs < credentialsAgeMs) {
      return session;
    }
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return await this.#opening;
  }

  /**
   * The API server answered 401 in this session. The first caller makes the credentials be read again, the others use those.
   *
   * @returns whether another session is worth a try.
   */
  renew(refused: Session): boolean {
    if (this.#session !== refused) {
      return true;
    }
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#reloadedAtMs < credentialsAgeMs) {
      return false;
    }
    this.#reloadedAtMs = nowMs;
    this.#source.reload();
    this.#session = { ...refused, readAtMs: Number.NEGATIVE_INFINITY };
    return true;
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    await Promise.all([...this.#dispatchers].map((dispatcher) => dispatcher.destroy()));
    this.#dispatchers.clear();
  }

  async #open(): Promise<Session> {
    const credentials = await this.#readCredentials();
    const transportHash = createHash("sha256").update(JSON.stringify(credentials.transport)).digest("base64");
    const before = this.#session;
    const dispatcher =
      before?.transportHash === transportHash ? before.dispatcher : this.#replaceDispatcher(credentials, before);
    this.#session = { credentials, dispatcher, transportHash, readAtMs: this.#clock.monotonicMs() };
    return this.#session;
  }

  async #readCredentials(): Promise<Credentials> {
    const deadline = createCallDeadline(this.#clock, credentialsTimeoutMs, [this.#closing]);
    try {
      return await untilAborted(deadline.signal, this.#source.current());
    } catch (error) {
      // The output of a plugin may hold a secret, so it stays in the cause.
      const message = "cannot reach the API server: the credentials of the kubeconfig or pod cannot be read";
      throw new KubernetesError("Unauthorized", message, { cause: error });
    } finally {
      deadline.end();
    }
  }

  #replaceDispatcher(credentials: Credentials, before: Session | undefined): HttpDispatcher {
    const dispatcher = createAgent(credentials.transport, { connectTimeoutMs });
    this.#dispatchers.add(dispatcher);
    if (before !== undefined) {
      // Calls in progress end with the old certificate; a watch stays on it until it is opened again.
      void before.dispatcher.close().finally(() => this.#dispatchers.delete(before.dispatcher));
    }
    return dispatcher;
  }
}
