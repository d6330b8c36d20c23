/** The tiers of tests. */
import type { AssetName } from "../assets/asset-table.ts";
import type { OutputMarks } from "./search-outputs.ts";
import type { TestCounts } from "./test-counts.ts";

/** One tier of tests: a directory under `test/`, and a vitest project of the same name. */
export interface Tier {
  readonly name: string;
  /** The binaries that every test needs. Without them the tier is skipped. */
  readonly assets: readonly AssetName[];
  /** The binaries that some tests need. Without them those tests are skipped. */
  readonly wantedAssets?: readonly AssetName[];
  /**
   * The outputs that its operators must write for the search for secrets. An output with texts of the control plane
   * must also show that a secret was removed. @default none
   */
  readonly leaves?: OutputMarks;
  /** The time limit of one test, in milliseconds. It ends a test that hangs; a busy machine must not reach it. */
  readonly testTimeoutMs: number;
  /** The number of test files at the same time. The machine has two cores, and an API server needs one of them. */
  readonly workers: number;
  /**
   * The time limit of the whole tier, in milliseconds. A tier that runs longer hangs. For the queue with low
   * priority, only the time after the end of the other queues counts.
   */
  readonly deadlineMs: number;
  readonly queue: TierQueue;
}

/**
 * The queues run beside each other, because the tests of most tiers mostly wait. The tiers of one queue run one after
 * the other. The last queue has low priority: its tier needs nothing but processor time.
 */
export const queues = ["First", "Second", "LowPriority"] as const;

/** The queue in which a tier runs. */
export type TierQueue = (typeof queues)[number];

const withApiServer: readonly AssetName[] = ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"];

/** Every tier, in the order in which the tiers of each queue run. */
export const tiers: readonly Tier[] = [
  { name: "unit", queue: "First", assets: [], testTimeoutMs: 60_000, workers: 2, deadlineMs: 5 * 60_000 },
  {
    name: "contract",
    queue: "Second",
    assets: [],
    wantedAssets: ["promtool", "actionlint"],
    testTimeoutMs: 300_000,
    workers: 2,
    deadlineMs: 10 * 60_000,
  },
  {
    name: "integration",
    queue: "First",
    assets: withApiServer,
    wantedAssets: ["helm", "kube-score"],
    leaves: {
      logs: ['"reconciled: the status changed"', "[redacted]"],
      metrics: ["compute_endpoint_info{", "control_plane_requests_total{"],
      status: ['"conditions"', "[redacted]", '"kind":"DatabaseAccess"', '"kind":"ControlPlane"'],
      events: ['"EndpointCreated"', "[redacted]", '"SecretCreated"'],
      traces: ['"reconcile.plan":"CreateEndpoint"', '"operation.ids"'],
    },
    testTimeoutMs: 300_000,
    workers: 2,
    deadlineMs: 20 * 60_000,
  },
  {
    name: "e2e",
    queue: "Second",
    assets: withApiServer,
    wantedAssets: ["prometheus", "alertmanager", "cosign", "helm", "crane", "registry"],
    // Further outputs: of the command line, the sandbox, the plugin, the demo, the demo's operator, and the pager.
    leaves: {
      logs: [
        "sandbox: listening on",
        "Ready=True UpToDate",
        "bad configuration",
        "What the person on call received",
        '"namespace":"shop","name":"orders-replica-3"',
      ],
      metrics: ['compute_endpoint_info{namespace="shop",name="orders-replica-3"'],
      alerts: ["FIRING  ComputeEndpointOperationFailed", "RESOLVED  ComputeEndpointOperationFailed"],
    },
    testTimeoutMs: 400_000,
    workers: 2,
    deadlineMs: 25 * 60_000,
  },
  {
    name: "node",
    queue: "First",
    // If no kubelet can run, its test is skipped with the reason.
    assets: [],
    wantedAssets: [...withApiServer, "kube-scheduler", "kubelet", "helm"],
    testTimeoutMs: 400_000,
    workers: 1,
    deadlineMs: 25 * 60_000,
  },
  {
    name: "simulation",
    queue: "LowPriority",
    assets: [],
    // At low priority it gets only what the others leave, so the deadline counts only when they are done. Until then
    // a test may take as long as they do.
    testTimeoutMs: 85 * 60_000,
    workers: 2,
    deadlineMs: 25 * 60_000,
  },
];

/**
 * Whether everything that a tier writes must exist. Some of it comes from tests that are skipped without their
 * programs.
 */
export function leavesAll({ leaves, wantedAssets = [] }: Tier, { passed, skipped }: TestCounts): boolean {
  return leaves !== undefined && passed > 0 && (wantedAssets.length === 0 || skipped === 0);
}
