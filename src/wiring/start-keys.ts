/** Makes the source of the API key: the value of the settings, the mounted file, or a Secret with the file as fallback. */
import type { ApiKeySource } from "../config.ts";
import { createKeySource, createSecretKeySource, type KeySource } from "../control-plane/key-source.ts";
import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";
import { createConnection } from "../kubernetes/http/connection.ts";
import type { CredentialSource } from "../kubernetes/http/credentials.ts";
import { createSecretWatch } from "../kubernetes/secret-watch.ts";

/** What the source of the API key is made from. */
export interface KeyPartsOptions {
  readonly apiKey: ApiKeySource;
  readonly credentials: CredentialSource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  /** Returns a random number from 0 up to 1. */
  readonly random: () => number;
}

/** The source of the API key, and the end of its watch. */
export interface KeyParts {
  readonly keys: KeySource;
  /** Resolves when the watch of the Secret has ended. */
  stop(): Promise<void>;
}

/** Makes the source of the API key. If a Secret is set, it starts to watch it. */
export function startKeys({ apiKey, credentials, clock, logger, version, random }: KeyPartsOptions): KeyParts {
  if (apiKey.kind === "Value") return { keys: createKeySource({ key: apiKey.value }), stop: async () => {} };
  const fallback = createKeySource({ file: apiKey.path, clock });
  if (apiKey.secret === undefined) return { keys: fallback, stop: async () => {} };
  const connection = createConnection({ credentials, clock, userAgent: `endpoint-operator/${version} (api key)` });
  const report = (error: unknown) =>
    logger.warn(
      { reason: error instanceof Error ? error.message : String(error) },
      "cannot watch the Secret of the API key; a new key is used when the mounted file shows it, after a minute or more",
    );
  const address = { ...apiKey.secret, namespace: connection.namespace };
  const secret = createSecretWatch({ connection, address, clock, random, onFailure: report });
  secret.start();
  return {
    keys: createSecretKeySource({ secret, fallback, onUnusable: report }),
    async stop() {
      await secret.stop();
      await connection.close();
    },
  };
}
