/** Keeps the current credentials, and the connections made with them. */
import { createHash } from "node:crypto";
import type { Clock } from "../../domain/clock.ts";
import { KubernetesError } from "../../domain/resource-store.ts";
import { createCallDeadline, untilAborted } from "../../http/call-deadline.ts";
import { createAgent, type HttpDispatcher } from "../../http/transport.ts";
import type { CredentialSource, Credentials } from "./credentials.ts";

/** Credentials that were read shortly before, and the connections made with them. */
export interface Session {
  readonly credentials: Credentials;
  readonly dispatcher: HttpDispatcher;
  readonly transportHash: string;
  readonly readAtMs: number;
}

/**
 * The minimum interval between two reads of the credentials, in milliseconds. A credential plugin knows itself when a
 * token expires.
 */
const credentialsAgeMs = 10_000;

/**
 * After this many milliseconds a hanging credential plugin is run again. Until then every call waits for it, each up to
 * its own time limit.
 */
const credentialsTimeoutMs = 30_000;

const connectTimeoutMs = 10_000;

/**
 * Holds the current credentials for one API server, and the connections made with them. It reads old or refused
 * credentials again.
 */
export class Sessions {
  readonly #source: CredentialSource;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  readonly #dispatchers = new Set<HttpDispatcher>();
  #session: Session | undefined;
  #opening: Promise<Session> | undefined;
  #reloadedAtMs = Number.NEGATIVE_INFINITY;

  /**
   * Makes the sessions.
   * @param closing ends the reading of credentials when the connection is closed
   */
  constructor(source: CredentialSource, clock: Clock, closing: AbortSignal) {
    this.#source = source;
    this.#clock = clock;
    this.#closing = closing;
  }

  /** Returns the current session if its credentials were read shortly before, else `undefined`. */
  usable(): Session | undefined {
    const session = this.#session;
    return session !== undefined && this.#clock.monotonicMs() - session.readAtMs < credentialsAgeMs
      ? session
      : undefined;
  }

  /** Returns the current session. @throws KubernetesError `Unauthorized` when the credentials cannot be read */
  async current(): Promise<Session> {
    const session = this.usable();
    if (session !== undefined) {
      return session;
    }
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return await this.#opening;
  }

  /**
   * Handles a 401 of this session. The first caller starts a new read of the credentials; the others use its result.
   * @returns whether the call should be tried again with a new session.
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
      // The plugin's output may hold a secret, so it stays in the error's cause.
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
      // Calls in progress finish with the old certificate. A watch uses it until the watch is opened again.
      void before.dispatcher.close().finally(() => this.#dispatchers.delete(before.dispatcher));
    }
    return dispatcher;
  }
}
