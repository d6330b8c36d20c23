/** Starts the whole operator inside a test, with a clock of the test. */
import { parseConfig } from "../../src/config.ts";
import type { Clock } from "../../src/domain/clock.ts";
import type { Logger } from "../../src/domain/logger.ts";
import { type RunningOperator, startOperator } from "../../src/wiring/operator.ts";
import { quietLogger } from "../support/quiet-logger.ts";
import { countingCredentials } from "./kubernetes/fake-api-server.ts";

/** The servers and the clock of an operator. */
export interface Surroundings {
  readonly api: { readonly url: string };
  readonly service: { readonly url: string };
  readonly clock: Clock;
  /** @default a logger without output */
  readonly logger?: Logger;
}

/**
 * Starts the whole operator in this process, with the given clock.
 * @param environment settings that replace the defaults
 */
export function startOperatorAt(
  { api, service, clock, logger = quietLogger }: Surroundings,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningOperator> {
  const config = parseConfig({
    CONTROL_PLANE_URL: service.url,
    CONTROL_PLANE_API_KEY: "unused",
    CLUSTER_ID: "cluster",
    METRICS_ADDR: "127.0.0.1:0",
    HEALTH_ADDR: "127.0.0.1:0",
    ...environment,
  });
  const parts = { config, clock, logger, version: "0.0.0", instance: "test", random: () => 0.5 };
  return startOperator({ ...parts, credentials: countingCredentials(api.url) });
}
