/** Makes endpoints for tests. */
import type { ObservedEndpoint } from "../../../src/domain/endpoint.ts";

/** The fields that each test must set. */
type Given = Partial<ObservedEndpoint> & Pick<ObservedEndpoint, "id" | "projectId" | "branchId" | "createdTime">;

/**
 * Makes an endpoint as the control plane may describe it: read-write, idle, without a name and never changed, unless a
 * test sets other values.
 */
export function observedEndpoint(given: Given): ObservedEndpoint {
  return {
    type: "ReadWrite",
    host: `${given.id}.eu.example`,
    minUnits: 1,
    maxUnits: 1,
    state: "idle",
    pendingState: undefined,
    pgSettings: {},
    poolerEnabled: false,
    poolerMode: "transaction",
    disabled: false,
    suspendTimeoutSeconds: undefined,
    name: undefined,
    lastActiveTime: undefined,
    ...given,
  };
}
