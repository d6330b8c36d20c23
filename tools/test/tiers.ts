import type { AssetName } from "../assets/asset-table.ts";

/** One tier of tests: a directory under `test/`, and a vitest project of the same name. */
export interface Tier {
  readonly name: string;
  /** Binaries it cannot do without; without them it is skipped. */
  readonly assets: readonly AssetName[];
  /** Binaries that some of its tests want; without them those tests are skipped. */
  readonly wantedAssets?: readonly AssetName[];
  /** Its operators leave what they say, and `search-outputs.ts` wants to find all of it. @default false */
  readonly leavesOutputs?: boolean;
  /** For one test, milliseconds. */
  readonly testTimeoutMs: number;
  /** Test files at once; the machine has two cores, and an API server wants one of them. */
  readonly workers: number;
  /** For the whole tier; what runs longer hangs, milliseconds. */
  readonly deadlineMs: number;
}

const withApiServer: readonly AssetName[] = ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"];

/** Every tier, in the order in which they run: the quickest word first. */
export const tiers: readonly Tier[] = [
  { name: "unit", assets: [], testTimeoutMs: 10_000, workers: 2, deadlineMs: 5 * 60_000 },
  {
    name: "contract",
    assets: [],
    wantedAssets: ["promtool", "prometheus", "alertmanager"],
    testTimeoutMs: 30_000,
    workers: 2,
    deadlineMs: 10 * 60_000,
  },
  {
    name: "integration",
    assets: withApiServer,
    leavesOutputs: true,
    testTimeoutMs: 90_000,
    workers: 2,
    deadlineMs: 20 * 60_000,
  },
  {
    name: "e2e",
    assets: withApiServer,
    wantedAssets: ["prometheus", "promtool", "alertmanager"],
    testTimeoutMs: 180_000,
    workers: 1,
    deadlineMs: 25 * 60_000,
  },
  { name: "simulation", assets: [], testTimeoutMs: 300_000, workers: 2, deadlineMs: 20 * 60_000 },
];
