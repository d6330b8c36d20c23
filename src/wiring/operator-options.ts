import type { Config } from "../config.ts";
import type { ConnectOptions } from "../control-plane/connection.ts";
import type { Clock } from "../domain/clock.ts";
import type { Logger, Tracer } from "../domain/logger.ts";
import type { KindGaps } from "../domain/resource-store.ts";
import type { KubernetesConnection } from "../kubernetes/http/connection.ts";
import type { CredentialSource } from "../kubernetes/http/credentials.ts";

/** The options of the operator. Everything that differs between tests and production is passed in here. */
export interface OperatorOptions {
  readonly config: Config;
  readonly credentials: CredentialSource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  readonly instance: string;
  readonly random: () => number;
  /** Called with each API key that is used, so that logs leave it out. @default nothing */
  readonly onKey?: ((key: string) => void) | undefined;
  /** Makes what sends the requests to a control plane; tests pass it in. @default HTTP */
  readonly callOf?: ConnectOptions["callOf"];
  /** The certificate authority of the databases as PEM. @default public authorities */
  readonly databaseAuthority?: string | undefined;
  readonly tracer?: Tracer | undefined;
  /** Whether to forget a project before its next reconcile. Only the simulation sets it. @default never */
  readonly forgets?: (() => boolean) | undefined;
  readonly flushTraces?: (() => Promise<void>) | undefined;
}

/** What the parts are made from. */
export interface Foundation extends OperatorOptions {
  readonly connection: KubernetesConnection;
  readonly leaseConnection: KubernetesConnection;
  readonly clusterId: string;
  readonly identity: string;
  /** The service account of the operator, as `namespace:name`. */
  readonly account: string;
  /** Where the operator does not watch the kinds that it can do without, by the name of the kind. */
  readonly gaps: ReadonlyMap<string, KindGaps>;
}
