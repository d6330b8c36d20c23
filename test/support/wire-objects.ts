/** Objects of the control plane as JSON, for tests of its client. */
import type { ControlPlane } from "../../src/domain/control-plane.ts";

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

/** Every method of the port, with a call that has plausible arguments. */
export const everyCall: readonly (readonly [
  name: string,
  kind: "read" | "write",
  call: (client: ControlPlane) => Promise<unknown>,
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
