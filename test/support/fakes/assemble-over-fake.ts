/** Wires the operator over fakes. */
import { parseConfig } from "../../../src/config.ts";
import { createKeySource } from "../../../src/control-plane/key-source.ts";
import { assembleOperator, type OperatorParts } from "../../../src/wiring/operator-parts.ts";
import type { FakeClock } from "../fake-clock.ts";
import { quietLogger } from "../quiet-logger.ts";
import type { FakeKubernetes } from "./fake-kubernetes.ts";

/** The fakes that the parts use. */
export interface FakeSurroundings {
  readonly kubernetes: FakeKubernetes;
  readonly clock: FakeClock;
  /** The URL of the control plane. @default an address where nothing listens */
  readonly serviceUrl?: string;
}

/**
 * Makes the parts of an operator of the cluster `cluster`, and does not start them. It has one worker and leads without
 * a Lease.
 */
export function assembleOverFake({
  kubernetes,
  clock,
  serviceUrl = "http://127.0.0.1:9/api/v2",
}: FakeSurroundings): OperatorParts {
  const config = parseConfig({
    CONTROL_PLANE_URL: serviceUrl,
    CONTROL_PLANE_API_KEY: "unused",
    WORKERS: "1",
    LEADER_ELECTION: "false",
  });
  return assembleOperator({
    config,
    credentials: { server: "http://127.0.0.1:9", namespace: "default", current: () => Promise.reject(), reload() {} },
    keys: createKeySource({ key: "unused" }),
    clock,
    logger: quietLogger,
    version: "0.0.0",
    instance: "test",
    random: () => 0.5,
    connection: kubernetes,
    leaseConnection: kubernetes,
    clusterId: "cluster",
    identity: "test_1",
    account: "ops:operator",
  });
}
