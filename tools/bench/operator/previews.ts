/** Measures previews: a DatabaseBranch, a ComputeEndpoint and a DatabaseAccess each, all in one project and namespace. */
import { findComputes } from "../../demo/scene/computes.ts";
import { waitUntil } from "../../process/wait-until.ts";
import { table } from "../common/figures.ts";
import { inParallel } from "../common/load.ts";
import { OperatorProcess, type Stage } from "./operator-process.ts";
import { isReady, planPopulation, type StoredResource } from "./population.ts";
import { SandboxServer } from "./sandbox-server.ts";

const group = "endpoint-operator.dev/v1alpha1";
const sizes = [
  [1, "PostgreSQL"],
  [1, ""],
  [50, ""],
] as const;

interface PreviewOptions extends Pick<Stage, "world" | "settings"> {
  readonly say: (line: string) => void;
}

/** Brings up previews beside a running operator: one alone, and many at once. */
export async function measurePreviews({ world, settings, say }: PreviewOptions): Promise<string> {
  const rows: string[][] = [];
  const computes = await findComputes();
  const postgres = computes.kind === "Found" && { compute: "postgres", "postgres-bin": computes.postgresBin };
  for (const [count, program] of sizes.filter((size) => size[1] === "" || postgres !== false)) {
    const population = planPopulation(`previews${count}${program.toLowerCase()}`, { resources: 1, projects: 1 });
    const { namespace, projects } = population;
    const sandbox = await SandboxServer.start({ ...world, sandboxProfile: "public" }, [population], {
      ...(program !== "" && postgres),
    });
    await world.kube.post("/api/v1/namespaces", { metadata: { name: namespace } });
    await world.kube.post(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, secretsBinding);
    const operator = await OperatorProcess.start({ world, sandbox, population, settings });
    const startedMs = performance.now();
    const all = `/apis/${group}/namespaces/${namespace}`;
    const names = Array.from({ length: count }, (_, index) => `pr-${index}`);
    const [{ id: projectId = "" } = {}] = projects;
    await inParallel(names, 16, async (name) => {
      for (const [plural, manifest] of manifestsOf(name, projectId))
        await world.kube.post(`${all}/${plural}`, manifest);
    });
    const areReady = async () => {
      const { items } = await world.kube.get<{ items: StoredResource[] }>(`${all}/databaseaccesses?resourceVersion=0`);
      return items.every(isReady) || undefined;
    };
    await waitUntil(areReady, { what: `${count} previews are Ready`, timeoutMs: 600_000, pauseMs: 100 });
    const seconds = (performance.now() - startedMs) / 1_000;
    const { reads, writes } = await sandbox.counts();
    say(`${count} previews: ${seconds.toFixed(1)} s`);
    rows.push([
      `${count} ${program && `with ${program}`}`.trim(),
      seconds.toFixed(1),
      (reads / count).toFixed(1),
      (writes / count).toFixed(1),
    ]);
    await operator.stop();
    await sandbox.stop();
  }
  return table(["previews of one project", "s until all are Ready", "reads each", "writes each"], rows);
}

const secretsBinding = {
  metadata: { name: "endpoint-operator-secrets" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "endpoint-operator-secrets" },
  subjects: [{ kind: "ServiceAccount", name: "endpoint-operator", namespace: "endpoint-operator-system" }],
};

/** Returns what stands below each collection of the API. */
function manifestsOf(name: string, projectId: string): readonly (readonly [plural: string, manifest: object])[] {
  const of = (kind: string, spec: object) => ({ apiVersion: group, kind, metadata: { name }, spec });
  return [
    ["databasebranches", of("DatabaseBranch", { projectId })],
    ["computeendpoints", of("ComputeEndpoint", { projectId, branchRef: { name }, type: "ReadWrite" })],
    [
      "databaseaccesses",
      of("DatabaseAccess", { endpointRef: { name }, database: { name: "orders" }, role: { name: "orders_app" } }),
    ],
  ];
}
