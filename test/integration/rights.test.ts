/** Tests the operator with exactly the shipped rights. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { writeKubeconfig } from "../../tools/api-server/kubeconfig.ts";
import type { AuditEvent } from "../support/api-server.ts";
import { BranchWorld } from "../support/branch-world.ts";
import { type OwnApiServer, startOwnApiServer } from "../support/own-api-server.ts";
import { PlaneWorld } from "../support/plane-world.ts";
import { secret } from "../support/secrets.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, startTestSandbox, startWorldAt, type World } from "../support/world.ts";

const account = "endpoint-operator";
/** The namespace of the operator. */
const home = "endpoint-operator-system";
/** The namespace that deploy/namespaced names. */
const namespace = "shop";
const orders = { branchId: branches.orders, type: "ReadWrite" };

const pathOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));

/** The namespace of the Secret that a ClusterControlPlane names. The operator does not watch it. */
const platform = "platform";

/** One of the shipped ways to install the operator. */
interface Variant {
  /** Folders of deploy/. The Helm chart has the same objects: test/integration/charts.test.ts. */
  readonly folders: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

const ofNamespace: Variant = { folders: ["namespaced"], environment: { WATCH_NAMESPACES: namespace } };
/** It has all rights of `deploy/base`, too. */
const secretsEverywhere: Variant = {
  folders: ["metrics-auth", "secrets-everywhere"],
  environment: { WATCH_NAMESPACES: "", METRICS_AUTH: "Token" },
};

/** A right of the operator's account: one verb on one resource, in one place, of one name where the rule names it. */
type Right = string;

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface RbacObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Rule[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly name: string; readonly namespace?: string }[];
}

/** Returns every right that a binding gives to the operator's account, as the API server stores it. */
async function rightsOf({ kubectl }: OwnApiServer): Promise<readonly Right[]> {
  const kinds = "roles,clusterroles,rolebindings,clusterrolebindings";
  const { items } = await kubectl.getJson<{ readonly items: readonly RbacObject[] }>([
    "get",
    kinds,
    "--all-namespaces",
  ]);
  const bindings = items.filter(({ subjects = [] }) =>
    subjects.some(({ name, namespace: place }) => name === account && place === home),
  );
  return bindings.flatMap(({ metadata, roleRef }) => {
    const role = items.find(
      (item) =>
        item.kind === roleRef?.kind &&
        item.metadata.name === roleRef.name &&
        (item.kind === "ClusterRole" || item.metadata.namespace === metadata.namespace),
    );
    return (role?.rules ?? []).flatMap((rule) => rightsIn(rule, metadata.namespace));
  });
}

function rightsIn({ apiGroups, resources, resourceNames = [""], verbs }: Rule, place = ""): readonly Right[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      resourceNames.flatMap((name) => verbs.map((verb) => [verb, group, resource, name, place].join(" "))),
    ),
  );
}

/** Returns the rights that allow a request: with and without the name, in its namespace and in the whole cluster. */
function rightsFor({ verb, objectRef, requestURI }: AuditEvent): readonly Right[] {
  const { resource = "", subresource, apiGroup = "", name, namespace: place = "" } = objectRef ?? {};
  const full = subresource === undefined ? resource : `${resource}/${subresource}`;
  const selected = /metadata\.name(?:=|%3D)([a-z0-9.-]+)/i.exec(requestURI)?.[1];
  return ["", name ?? selected ?? ""].flatMap((named) =>
    ["", place].map((where) => [verb, apiGroup, full, named, where].join(" ")),
  );
}

async function requestsOf({ apiServer }: OwnApiServer): Promise<readonly AuditEvent[]> {
  const user = `system:serviceaccount:${home}:${account}`;
  const lines = (await readFile(apiServer.auditLogFile, "utf8")).split("\n").slice(0, -1);
  const events = lines.map((line) => JSON.parse(line) as AuditEvent);
  return events.filter((event) => event.user.username === user && event.objectRef !== undefined);
}

/** Returns the rights that no request has needed so far. */
async function unusedRights(own: OwnApiServer, rights: readonly Right[]): Promise<readonly Right[]> {
  const allowed = (await requestsOf(own)).filter(({ responseStatus }) => responseStatus?.code !== 403);
  const used = new Set(allowed.flatMap(rightsFor));
  return rights.filter((right) => !used.has(right));
}

/** Makes the files with which the operator is started: the kubeconfig of its account, and the API key. */
async function operatorFiles({ apiServer, kubectl }: OwnApiServer) {
  const token = (await kubectl.run(["--namespace", home, "create", "token", account])).trim();
  const folder = await mkdtemp(path.join(path.dirname(apiServer.kubeconfigFile), "operator-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const kubeconfig = path.join(folder, "kubeconfig");
  const { url: server, caFile } = apiServer;
  await writeKubeconfig(kubeconfig, { server, caFile, token: secret(token), namespace: home });
  return { kubeconfig, keyFile: path.join(folder, "api-key") };
}

/** The right to read a resource by name. Only a conflict or a lost answer needs it, and these stories have neither. */
const isReadAfterDoubt = (right: Right) =>
  /^get endpoint-operator.dev (computeendpoints|databaseaccesses|databasebranches|controlplanes|clustercontrolplanes) /.test(
    right,
  );

/** The remedy binds the same role in each namespace. In `platform` the operator only reads a key, so three verbs stay unused. */
const isForAccesses = (right: Right) => /^(create|patch|delete) {2}secrets {2}platform$/.test(right);

/** Creates and edits a ComputeEndpoint, and creates a DatabaseBranch. */
async function tellOfEndpoints({ world }: PlaneWorld): Promise<void> {
  await world.apply("orders", orders);
  await world.untilReady("orders");
  // The same event again only raises the count of the first one.
  for (const maxUnits of [1, 2, 4]) {
    await world.apply("orders", { ...orders, compute: { minUnits: 0.25, maxUnits } });
    await world.untilReady("orders");
  }
  const scene = new BranchWorld(world);
  await scene.apply("preview");
  await scene.untilReady("preview");
}

async function applyPlanes(planes: PlaneWorld, keyNamespace: string, spec: object = {}): Promise<void> {
  await planes.apply("controlplane/second", spec);
  const apiKeySecretRef = { namespace: keyNamespace, name: "second-key", key: "api-key" };
  await planes.apply("clustercontrolplane/second", { apiKeySecretRef, ...spec });
}

/** Applies both kinds of control planes, and a ComputeEndpoint for each. */
async function applyPlanesAndUsers(planes: PlaneWorld, keyNamespace: string): Promise<void> {
  await applyPlanes(planes, keyNamespace);
  const users = { near: "ControlPlane", far: "ClusterControlPlane" };
  const second = [branches.main, branches.staging];
  for (const [index, [name, kind]] of Object.entries(users).entries()) {
    const controlPlaneRef = { kind, name: "second" };
    await planes.world.apply(name, { ...orders, branchId: second[index] ?? "", controlPlaneRef });
  }
}

const planeNames = ["controlplane/second", "clustercontrolplane/second"] as const;

async function deleteAll({ kubectl }: OwnApiServer): Promise<void> {
  await kubectl.run([
    "-n",
    namespace,
    "delete",
    "dbb/preview",
    "dba/app",
    "cpe/near",
    "cpe/far",
    "cpe/orders",
    "--timeout=100s",
  ]);
  await kubectl.run(["-n", namespace, "delete", "controlplane/second", "--timeout=100s"]);
  await kubectl.run(["delete", "clustercontrolplane/second", "--timeout=100s"]);
}

/** Rotates and uses Secrets: of a DatabaseAccess, and of both kinds of control planes. */
async function tellOfSecrets(planes: PlaneWorld): Promise<void> {
  const { world, access } = planes;
  await access.annotate("app", "rotateRequestedAt", "now");
  await access.until("app", "rotated", ({ status }) => status.lastHandledRotateAt === "now");
  for (const name of planeNames) {
    await planes.until(name, "Ready", ({ status }) => conditionOf(status.conditions, "Ready")?.status === "True");
  }
  for (const name of ["near", "far"]) await world.untilReady(name);
}

/**
 * Checks the events of a ClusterControlPlane, which Kubernetes stores in `default`. An operator of some namespaces
 * publishes none there.
 */
async function expectClusterEvents({ kubectl }: OwnApiServer, { environment }: Variant): Promise<void> {
  const ofKind = "--field-selector=involvedObject.kind=ClusterControlPlane";
  const list = () => kubectl.run(["get", "events", "--all-namespaces", ofKind, "--no-headers"]);
  if (environment.WATCH_NAMESPACES !== "") {
    expect(await list()).toBe("");
    return;
  }
  const isThere = async () => /^default .* ControlPlaneReady /m.test(await list()) || undefined;
  await waitUntil(isThere, { what: "the event of the ClusterControlPlane" });
}

async function startOperator(own: OwnApiServer, { environment }: Variant): Promise<World> {
  const { kubeconfig, keyFile } = await operatorFiles(own);
  await writeFile(keyFile, "");
  const place = { namespace, kubectl: own.kubectl, kubeconfigFile: own.apiServer.kubeconfigFile };
  const world = await startWorldAt(place, {
    operatorKubeconfig: kubeconfig,
    sandbox: { profile: "public" },
    environment: {
      LEADER_ELECTION: "true",
      CONTROL_PLANE_API_KEY: "",
      CONTROL_PLANE_API_KEY_FILE: keyFile,
      CONTROL_PLANE_API_KEY_SECRET: "control-plane-api-key/api-key",
      ...environment,
    },
  });
  const key = await world.sandbox.newKey("of the Secret");
  const create = ["create", "secret", "generic", "control-plane-api-key", `--from-literal=api-key=${key}`];
  await own.kubectl.run(["-n", home, ...create]);
  return world;
}

/** Starts an API server with the objects of a variant, and the operator with exactly the rights that they give. */
async function startVariant(variant: Variant) {
  const own = await startOwnApiServer();
  for (const name of [namespace, platform]) await own.kubectl.run(["create", "namespace", name]);
  for (const folder of variant.folders) {
    await own.kubectl.run(["apply", "--server-side", "--force-conflicts", "-k", pathOf(`deploy/${folder}`)]);
  }
  const world = await startOperator(own, variant);
  const second = await startTestSandbox();
  const planes = new PlaneWorld(world, second);
  await planes.secret("second-key", second.apiKey);
  await planes.secret("second-key", second.apiKey, platform);
  return { own, planes };
}

async function expectEachRightUsed(own: OwnApiServer): Promise<void> {
  const rights = (await rightsOf(own)).filter((right) => !isReadAfterDoubt(right) && !isForAccesses(right));
  expect(rights.length).toBeGreaterThan(20);
  let unused: readonly Right[] = rights;
  await waitUntil(
    async () => {
      unused = await unusedRights(own, rights);
      return unused.length === 0 || undefined;
    },
    { what: "every right is used", lastSeen: () => unused },
  );
}

/** Returns the requests that the API server answered with 403. */
async function refusedRequests(own: OwnApiServer): Promise<readonly string[]> {
  const refused = (await requestsOf(own)).filter(({ responseStatus }) => responseStatus?.code === 403);
  return [...new Set(refused.map(({ verb, requestURI }) => `${verb} ${requestURI}`))].sort();
}

test("an operator for Secrets everywhere, scrapes with a token → its stories need every shipped right, and no other", async () => {
  const { own, planes } = await startVariant(secretsEverywhere);
  await tellOfEndpoints(planes);
  const { access } = planes;
  await access.apply("app", {});
  await access.untilReady("app");
  await applyPlanesAndUsers(planes, platform);
  await tellOfSecrets(planes);
  await expectClusterEvents(own, secretsEverywhere);
  await deleteAll(own);
  const token = await own.kubectl.run(["--namespace", home, "create", "token", account]);
  expect((await planes.world.scrape(secret(token.trim()))).status).toBe(403);
  await expectEachRightUsed(own);
  expect(await refusedRequests(own)).toEqual([]);
});

/** Runs the commands that condition messages give as the remedy. */
async function runRemedies({ kubectl }: OwnApiServer, messages: readonly (string | undefined)[]): Promise<void> {
  const commands = messages.map((message = "") => /Allow it with: kubectl (.+)$/.exec(message)?.[1] ?? message);
  for (const command of new Set(commands)) await kubectl.run(command.split(" "));
}

test("an operator for some namespaces, first without rights on Secrets → each condition names the right and its remedy; then every shipped right is used, and no other", async () => {
  const { own, planes } = await startVariant(ofNamespace);
  const { access, world } = planes;
  await tellOfEndpoints(planes);
  await access.apply("app", {});
  await applyPlanesAndUsers(planes, platform);
  const { status } = await access.untilReason("app", "SecretsForbidden");
  const forbidden = conditionOf(status.conditions, "Ready")?.message;
  expect(forbidden).toContain("the right to get, create, patch and delete Secrets in this namespace");
  const messages = [forbidden];
  for (const name of planeNames) {
    const plane = await planes.untilReason(name, "SecretForbidden");
    messages.push(conditionOf(plane.status.conditions, "Ready")?.message);
  }
  await applyPlanes(planes, platform, { requestsPerMinute: 600 });
  for (const name of ["near", "far"]) await world.untilStalled(name, "ControlPlaneNotReady");
  // Before the next write, the operator must read this status.
  await access.annotate("app", "paused", "true");
  await access.untilReason("app", "Paused");
  await access.annotate("app", "paused", "false");
  await access.untilReason("app", "SecretsForbidden");
  expect(await planes.second.requests()).toEqual([]);
  const reads = [`${namespace}/secrets/app`, `${namespace}/secrets/second-key`, `${platform}/secrets/second-key`];
  const refused = reads.map((name) => `get /api/v1/namespaces/${name}`).sort();
  expect(await refusedRequests(own)).toEqual(refused);
  await expectEachRightUsed(own);

  await runRemedies(own, messages);
  await access.annotate("app", "reconcileRequestedAt", "now");
  await access.untilReady("app");
  for (const name of planeNames) await planes.touch(name);
  await tellOfSecrets(planes);
  await expectClusterEvents(own, ofNamespace);
  await deleteAll(own);
  await expectEachRightUsed(own);
  expect(await refusedRequests(own)).toEqual(refused);
});
