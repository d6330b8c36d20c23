import type { AssetName } from "../assets/asset-table.ts";
import type { OutputMarks } from "./search-outputs.ts";
import type { TestCounts } from "./test-counts.ts";

/** One tier of tests: a directory under `test/`, and a vitest project of the same name. */
export interface Tier {
  readonly name: string;
  /** Binaries that every test of it needs; without them the tier is skipped. */
  readonly assets: readonly AssetName[];
  /** Binaries that some of its tests need; without them those tests are skipped. */
  readonly wantedAssets?: readonly AssetName[];
  /**
   * The outputs that its operators must leave behind for the search for secrets. An output with texts of the control plane
   * must also show that a secret was taken out. @default none
   */
  readonly leaves?: OutputMarks;
  /** For one test, milliseconds. */
  readonly testTimeoutMs: number;
  /** Test files at once; the machine has two cores, and an API server wants one of them. */
  readonly workers: number;
  /** For the whole tier, milliseconds; a tier that runs longer hangs. */
  readonly deadlineMs: number;
  /**
   * It needs nothing but processor time, so it runs at low priority beside the others, whose tests mostly wait.
   * @default false
   */
  readonly runsBeside?: boolean;
}

const withApiServer: readonly AssetName[] = ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"];

/** Every tier, in the order in which they run: the quickest word first. */
export const tiers: readonly Tier[] = [
  { name: "unit", assets: [], testTimeoutMs: 10_000, workers: 2, deadlineMs: 5 * 60_000 },
  {
    name: "contract",
    assets: [],
    wantedAssets: ["promtool", "prometheus", "alertmanager", "actionlint"],
    // Of the random runs of the ledger, whose operators stand on no Kubernetes.
    leaves: {
      logs: ['"uid":"uid-main-1"'],
      metrics: ['{namespace="shop",name="main"'],
      status: ['"namespace":"shop","name":"main"'],
      events: ['"namespace":"shop","name":"main"'],
    },
    testTimeoutMs: 30_000,
    workers: 2,
    deadlineMs: 10 * 60_000,
  },
  {
    name: "integration",
    assets: withApiServer,
    wantedAssets: ["helm"],
    leaves: {
      logs: ['"reconciled: the status changed"', "[redacted]"],
      metrics: ["compute_endpoint_info{", "control_plane_requests_total{"],
      status: ['"conditions"', "[redacted]"],
      events: ['"EndpointCreated"', "[redacted]"],
      traces: ['"reconcile.plan":"CreateEndpoint"', '"operation.ids"'],
    },
    testTimeoutMs: 90_000,
    workers: 2,
    deadlineMs: 20 * 60_000,
  },
  {
    name: "e2e",
    assets: withApiServer,
    wantedAssets: ["prometheus", "promtool", "alertmanager", "cosign", "helm", "crane", "registry"],
    // Beside what its worlds leave: the command line, the demo as its user sees it, the demo's operator, and the pager.
    leaves: {
      logs: ["bad configuration", "What the person on call received", '"namespace":"shop","name":"orders-replica-3"'],
      metrics: ['compute_endpoint_info{namespace="shop",name="orders-replica-3"'],
      alerts: ['"alertname":"ComputeEndpointOperationFailed"', '"status":"resolved"'],
    },
    testTimeoutMs: 180_000,
    workers: 1,
    deadlineMs: 25 * 60_000,
  },
  {
    name: "node",
    // Its test is skipped, with the reason, where no kubelet can run.
    assets: [],
    wantedAssets: [...withApiServer, "kube-scheduler", "kubelet", "helm"],
    testTimeoutMs: 180_000,
    workers: 1,
    deadlineMs: 25 * 60_000,
  },
  {
    name: "simulation",
    assets: [],
    testTimeoutMs: 900_000,
    workers: 2,
    deadlineMs: 25 * 60_000,
    runsBeside: true,
  },
];

/** Whether everything that a tier leaves must be there: some of it comes from tests that are skipped without their tools. */
export function leavesAll({ leaves, wantedAssets = [] }: Tier, { passed, skipped }: TestCounts): boolean {
  return leaves !== undefined && passed > 0 && (wantedAssets.length === 0 || skipped === 0);
}
