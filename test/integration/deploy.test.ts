/** Tests the shipped manifests and roles on a real API server. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { shutdownLimitMs } from "../../src/wiring/operator.ts";
import { adminKubectl } from "../support/api-server.ts";

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: a manifest of any kind, read by path in the assertions
  readonly spec?: any;
}

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const textOf = (path: string) => readFile(pathOf(path), "utf8");

async function render(folder: string): Promise<readonly Manifest[]> {
  const text = await adminKubectl().run(["kustomize", pathOf(folder)]);
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

function named(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
}

/** A server-side dry run stores nothing. So it does not find namespaces that the same manifests create. */
beforeAll(async () => {
  for (const path of ["deploy/base/namespace.yaml", "deploy/samples/namespace.yaml"]) {
    await adminKubectl().run(["apply", "--server-side", "--filename", pathOf(path)]);
  }
});

describe("manifests", () => {
  test.each(["deploy/base", "deploy/namespaced", "deploy/metrics-auth"])(
    "%s on a real API server → accepted whole, without a warning",
    async (folder) => {
      const { code, stdout, stderr } = await adminKubectl().tryRun([
        "apply",
        "--dry-run=server",
        "--validate=strict",
        "--kustomize",
        pathOf(folder),
      ]);
      expect(`${code} ${stderr.replaceAll(/^Warning: resource .* is missing the .*last-applied.*\n?/gm, "")}`).toBe(
        "0 ",
      );
      expect(stdout.trim().split("\n")).toHaveLength((await render(folder)).length);
    },
  );

  test("deploy/samples on a real API server → four endpoints accepted", async () => {
    const output = await adminKubectl().run(["apply", "--dry-run=server", "--kustomize", pathOf("deploy/samples")]);
    expect(output.match(/computeendpoint\S+ created/g)).toHaveLength(4);
  });

  test.each([
    ["adopt-main.yaml", ["computeendpoint.endpoint-operator.dev/main"]],
    ["observe-main.yaml", ["computeendpoint.endpoint-operator.dev/main"]],
    [
      "migrate-orders.yaml",
      [
        ...["serviceaccount/migrate-orders", "role.rbac.authorization.k8s.io/migrate-orders"],
        ...["rolebinding.rbac.authorization.k8s.io/migrate-orders", "job.batch/migrate-orders"],
      ],
    ],
    ["orders-app.yaml", ["databaseaccess.endpoint-operator.dev/orders-app"]],
    [
      "own-control-plane.yaml",
      ["controlplane.endpoint-operator.dev/own", "computeendpoint.endpoint-operator.dev/orders-own"],
    ],
    ["office-hours.yaml", ["computeendpoint.endpoint-operator.dev/orders"]],
    ["analytics-control-plane.yaml", ["clustercontrolplane.endpoint-operator.dev/analytics"]],
  ])("the sample %s on a real API server → accepted whole, without a warning", async (name, objects) => {
    const dryRun = ["apply", "--dry-run=server", "--validate=strict", "--filename", pathOf(`deploy/samples/${name}`)];
    const { code, stdout, stderr } = await adminKubectl().tryRun(dryRun);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.trim().split("\n")).toEqual(objects.map((object) => `${object} created (server dry run)`));
  });
});

test("an install with METRICS_AUTH → the NetworkPolicy still opens the metrics port", async () => {
  const manifests = await render("deploy/metrics-auth");
  const settings = manifests.filter(({ kind }) => kind === "ConfigMap");
  expect(settings).toMatchObject([{ data: { METRICS_AUTH: "Token" } }]);
  const { spec } = named(manifests, "NetworkPolicy", "endpoint-operator");
  expect(spec.ingress).toEqual([{ ports: [{ port: "metrics" }, { port: "health" }] }]);
});

describe("the pod", () => {
  test("two replicas → one at least through a rollout, a drain and the loss of a node; time enough to stop", async () => {
    const manifests = await render("deploy/base");
    const { spec } = named(manifests, "Deployment", "endpoint-operator");
    expect({ replicas: spec.replicas, strategy: spec.strategy }).toEqual({
      replicas: 2,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
    const budget = named(manifests, "PodDisruptionBudget", "endpoint-operator");
    const pod = spec.template;
    const [term] = pod.spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution;
    for (const { matchLabels } of [budget.spec.selector, term.podAffinityTerm.labelSelector]) {
      expect(pod.metadata.labels).toMatchObject(matchLabels);
    }
    expect(budget.spec.maxUnavailable).toBeLessThan(spec.replicas);
    expect(pod.spec.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(shutdownLimitMs + 10_000);
  });

  test("image → tag of package.json, base images with exact tags, the same uid", async () => {
    const { version } = JSON.parse(await textOf("package.json")) as { version: string };
    const { spec } = named(await render("deploy/base"), "Deployment", "endpoint-operator");
    expect(spec.template.spec.containers[0].image).toBe(`endpoint-operator:${version}`);
    const dockerfile = await textOf("Dockerfile");
    const stages = [...dockerfile.matchAll(/ AS (\S+)$/gm)].map(([, stage]) => stage);
    expect(stages.at(-1)).toBe("operator");
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)]
      .map(([, base = ""]) => base)
      .filter((base) => !stages.includes(base));
    expect(bases).toHaveLength(2);
    for (const base of bases) {
      expect(base).toMatch(/^[a-z/.]+:\d+\.\d+(\.\d+)?(-[a-z]+)*$/);
    }
    expect(dockerfile).toContain(`\nUSER ${spec.template.spec.securityContext.runAsUser}:`);
    const { devDependencies } = JSON.parse(await textOf("package.json")) as { devDependencies: { node: string } };
    expect(bases[0]).toContain(`:${devDependencies.node}-`);
  });
});
