/** Endpoints, operations and helpers for tests of the control-plane client. */
import type { ControlPlaneClient } from "../../../src/control-plane/create-control-plane.ts";
import { createHttpClient, type HttpCallOptions } from "../../../src/control-plane/http-call.ts";
import { controlPlaneOf } from "../../../src/control-plane/typed-calls.ts";
import type { ListReport } from "../../../src/control-plane/unreadable-objects.ts";
import type { ControlPlaneObserver } from "../../../src/domain/control-plane.ts";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";

export const project = "green-fox-123456";
export const branch = "br-quiet-sun-123456";

/** An endpoint with only the fields that both profiles always send. */
export const leanEndpoint = {
  id: "ep-cool-dawn-123456",
  host: "ep-cool-dawn-123456.eu-1.local.example",
  proxy_host: "eu-1.local.example",
  project_id: project,
  branch_id: branch,
  region_id: "local-eu-1",
  type: "read_write",
  autoscaling_limit_min_cu: 0.25,
  autoscaling_limit_max_cu: 2,
  current_state: "init",
  settings: { pg_settings: {} },
  pooler_enabled: false,
  pooler_mode: "transaction",
  disabled: false,
  passwordless_access: true,
  created_at: "2026-11-20T10:00:00Z",
  updated_at: "2026-11-20T10:00:01.5Z",
};

/** An operation with only the fields that both profiles always send. */
export const leanOperation = {
  id: "a07f8772-1877-4da9-a939-3a3ae62d1d8d",
  project_id: project,
  action: "start_compute",
  status: "running",
  created_at: "2026-11-20T10:00:00Z",
  updated_at: "2026-11-20T10:00:01Z",
};

/** Remembers what the client reports to its observer. */
export function recordingObserver() {
  const reported: string[] = [];
  const observer: ControlPlaneObserver = {
    requestEnded: ({ route, method, code }) => reported.push(`${method} ${route} ${code}`),
    throttled: (reason) => reported.push(`throttled ${reason}`),
    budgetWaited: () => {},
    locked: (reason) => reported.push(`locked ${reason}`),
  };
  return { reported, observer };
}

/** Makes a client of the control plane at `baseUrl`, for `await using`. */
export function clientOf(
  baseUrl: string,
  options: Partial<HttpCallOptions> & { readonly key?: string; readonly onListed?: ListReport } = {},
): ControlPlaneClient & AsyncDisposable {
  const { key = "obviously-fake-key", onListed, ...rest } = options;
  const { serviceUrl, call, close } = createHttpClient({
    baseUrl,
    clock: systemClock,
    observer: recordingObserver().observer,
    userAgent: "endpoint-operator/0.0.0-test",
    ...rest,
  });
  const controlPlane = controlPlaneOf({ serviceUrl, call: (request) => call(request, key), onListed });
  return Object.assign(controlPlane, { close, [Symbol.asyncDispose]: close });
}

/** Returns the error of a call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<ControlPlaneError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ControlPlaneError) {
      return error;
    }
    throw error;
  }
  throw new Error("the call succeeded");
}

/** Every method of the port, with a call that has plausible arguments. */
export const everyCall: readonly (readonly [
  name: string,
  kind: "read" | "write",
  call: (client: ControlPlaneClient) => Promise<unknown>,
])[] = [
  ["listEndpoints", "read", (client) => client.listEndpoints(project)],
  ["getEndpoint", "read", (client) => client.getEndpoint(project, leanEndpoint.id)],
  ["listOperations", "read", (client) => client.listOperations(project, { limit: 100 })],
  ["getOperation", "read", (client) => client.getOperation(project, leanOperation.id)],
  [
    "createEndpoint",
    "write",
    (client) => client.createEndpoint(project, { branchId: branch, type: "ReadWrite", name: "orders-k8s-token" }),
  ],
  ["updateEndpoint", "write", (client) => client.updateEndpoint(project, leanEndpoint.id, { minUnits: 1 })],
  ["deleteEndpoint", "write", (client) => client.deleteEndpoint(project, leanEndpoint.id)],
];
