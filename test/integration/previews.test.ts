/** Tests the previews of docs/previews.md, applied as Argo CD does it, and their end. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { AccessWorld } from "../support/access-world.ts";
import { BranchWorld } from "../support/branch-world.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, startWorld, type World } from "../support/world.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

interface Application {
  readonly source: { readonly path: string; readonly kustomize: { readonly namespace: string } };
}

/** The Applications that the ApplicationSets of the samples make for a pull request. */
async function applicationsFor(pullRequest: Readonly<Record<string, string>>): Promise<readonly Application[]> {
  const text = await readFile(path.join(root, "deploy/samples/previews/application-sets.yaml"), "utf8");
  const filled = text.replaceAll(/\{\{\.(\w+)\}\}/g, (_, name: string) => pullRequest[name] ?? `no ${name}`);
  const objects = parseAllDocuments(filled.replaceAll(`preview-${pullRequest.number}`, pullRequest.namespace ?? ""));
  const sets = objects.map((document) => document.toJS()).filter(({ kind }) => kind === "ApplicationSet");
  return sets.map(({ spec }) => spec.template.spec as Application);
}

class Preview {
  readonly world: World;
  readonly access: AccessWorld;
  readonly branches: BranchWorld;

  constructor(world: World) {
    this.world = world;
    this.access = new AccessWorld(world);
    this.branches = new BranchWorld(world);
  }

  /** Applies what the Applications name, with their patches. */
  async push(headSha: string): Promise<void> {
    const { namespace, kubectl } = this.world;
    const applications = await applicationsFor({ number: "42", head_sha: headSha, namespace });
    expect(applications.map(({ source }) => source.kustomize.namespace)).toEqual([namespace, namespace]);
    await mkdir(path.join(root, ".cache"), { recursive: true });
    const folder = await mkdtemp(path.join(root, ".cache/preview-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    for (const { source } of applications) {
      const kustomization = { ...source.kustomize, resources: [path.relative(folder, path.join(root, source.path))] };
      await writeFile(path.join(folder, "kustomization.yaml"), stringify(kustomization));
      await kubectl.run(["apply", "--server-side", "--force-conflicts", "--kustomize", folder]);
    }
  }

  async untilReady() {
    const branch = await this.branches.untilReady("orders");
    const endpoint = await this.world.untilReady("orders");
    await this.access.untilReady("orders-app");
    const password = (await this.access.secret("orders-db"))?.data.password;
    return { branchId: branch.status.branchId ?? "", resetTime: branch.status.lastResetTime, endpoint, password };
  }

  async untilNothingIsLeft(): Promise<void> {
    await waitUntil(async () => ((await this.branches.branches()).length === 4 ? true : undefined), {
      what: "no branch is left",
      lastSeen: () => this.world.logs.slice(-15),
    });
    expect(await this.world.sandbox.endpoints(project)).toEqual([]);
  }
}

/** The parent has the role and the database that the preview names. @returns the preview, and the password of the parent */
async function startPreview() {
  const environment = { PROJECT_GRANTS: "Required" };
  const world = await startWorld({ sandbox: { profile: "public" }, environment });
  const parent = `/projects/${project}/branches/${branches.orders}`;
  await world.sandbox.api("POST", `${parent}/roles`, { role: { name: "orders_app" } });
  await world.sandbox.untilUnlocked(project);
  await world.sandbox.api("POST", `${parent}/databases`, { database: { name: "orders", owner_name: "orders_app" } });
  await world.sandbox.untilUnlocked(project);
  const reveal = `${parent}/roles/orders_app/reveal_password`;
  const { password } = await world.sandbox.api<{ password: string }>("GET", reveal);
  const preview = new Preview(world);
  await preview.push("aaa");
  return { preview, world, parentPassword: password };
}

test("the ApplicationSets for a pull request → all Ready, on a branch and with a password of their own; a push → a fresh copy", async () => {
  const { preview, world, parentPassword } = await startPreview();
  const first = await preview.untilReady();
  expect(Object.values(branches)).not.toContain(first.branchId);
  expect(first.endpoint.status.branchId).toBe(first.branchId);
  expect([first.password, first.resetTime]).toEqual([expect.any(String), undefined]);
  expect(first.password).not.toBe(parentPassword);

  // A pull request that reaches for the parent.
  await world.apply("direct", { branchId: branches.orders, type: "ReadOnly" });
  await world.untilStalled("direct", "ProjectNotGranted");

  await preview.push("bbb");
  await preview.branches.until("orders", "reset", ({ status }) => status.lastResetTime !== undefined);
  // When branch, endpoint and access are Ready again, the Secret holds the password of the fresh copy.
  const second = await preview.untilReady();
  expect([first.password, parentPassword]).not.toContain(second.password);
  expect([second.branchId, second.endpoint.status.host]).toEqual([first.branchId, first.endpoint.status.host]);
});

test("its namespace is deleted while it comes up → it ends, and nothing is left in the control plane", async () => {
  const { preview, world } = await startPreview();
  await preview.branches.until("orders", "has a branch", ({ status }) => status.branchId !== undefined);
  await world.kubectl.run(["delete", "namespace", world.namespace, "--timeout=100s"]);
  await preview.untilNothingIsLeft();
});
