import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { writeKubeconfig } from "../../tools/api-server/kubeconfig.ts";
import type { AuditEvent } from "../support/api-server.ts";
import { type OwnApiServer, startOwnApiServer } from "../support/own-api-server.ts";
import { PlaneWorld, startSecondSandbox } from "../support/plane-world.ts";
import { secret } from "../support/secrets.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, startWorldAt, type World } from "../support/world.ts";

const home = "endpoint-operator-system";
const account = "endpoint-operator";
const user = `system:serviceaccount:${home}:${account}`;
/** The namespace that deploy/namespaced names. */
const namespace = "shop";
const orders = { branchId: branches.orders, type: "ReadWrite" };

const folderOf = (name: string) => fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url));

/** A shipped way to install the operator. */
interface Variant {
  readonly folders: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Whether the operator may use Secrets in the namespace, so that DatabaseAccesses and ControlPlanes work. */
  readonly maySecrets: boolean;
}

const variants: readonly (readonly [string, Variant])[] = [
  ["the whole cluster", { folders: ["base"], environment: { WATCH_NAMESPACES: "" }, maySecrets: true }],
  ["some namespaces", { folders: ["namespaced"], environment: { WATCH_NAMESPACES: namespace }, maySecrets: true }],
  [
    "Secrets everywhere, scrapes with a token",
    {
      folders: ["metrics-auth", "secrets-everywhere"],
      environment: { WATCH_NAMESPACES: "", METRICS_AUTH: "Token" },
      maySecrets: false,
    },
  ],
];

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

/** Every right that a binding gives to the operator's account, as the API server has it. */
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

/** The rights that would have allowed a request: with and without the name, in its namespace and in the whole cluster. */
function rightsFor({ verb, objectRef, requestURI }: AuditEvent): readonly Right[] {
  const { resource = "", subresource, apiGroup = "", name, namespace: place = "" } = objectRef ?? {};
  const full = subresource === undefined ? resource : `${resource}/${subresource}`;
  const selected = /metadata\.name(?:=|%3D)([a-z0-9.-]+)/i.exec(requestURI)?.[1];
  return ["", name ?? selected ?? ""].flatMap((named) =>
    ["", place].map((where) => [verb, apiGroup, full, named, where].join(" ")),
  );
}

async function requestsOf({ apiServer }: OwnApiServer): Promise<readonly AuditEvent[]> {
  const lines = (await readFile(apiServer.auditLogFile, "utf8")).split("\n").slice(0, -1);
  const events = lines.map((line) => JSON.parse(line) as AuditEvent);
  return events.filter((event) => event.user.username === user && event.objectRef !== undefined);
}

/** Rights that no request has needed so far. */
async function unusedRights(own: OwnApiServer, rights: readonly Right[]): Promise<readonly Right[]> {
  const used = new Set((await requestsOf(own)).flatMap(rightsFor));
  return rights.filter((right) => !used.has(right));
}

/** What the operator is started with beside its settings: its account's kubeconfig, and the file with the API key. */
async function operatorFiles({ apiServer, kubectl }: OwnApiServer) {
  const token = (await kubectl.run(["--namespace", home, "create", "token", account])).trim();
  const folder = await mkdtemp(path.join(path.dirname(apiServer.kubeconfigFile), "operator-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const kubeconfig = path.join(folder, "kubeconfig");
  const { url: server, caFile } = apiServer;
  await writeKubeconfig(kubeconfig, { server, caFile, token: secret(token), namespace: home });
  return { kubeconfig, keyFile: path.join(folder, "api-key") };
}

const kinds = ["computeendpoints", "databaseaccesses", "controlplanes", "clustercontrolplanes"] as const;

/** Lets the API server store fields of status that a newer version of the operator may have. */
async function allowFutureFields({ kubectl }: OwnApiServer): Promise<void> {
  const place = "/spec/versions/0/schema/openAPIV3Schema/properties/status/x-kubernetes-preserve-unknown-fields";
  const change = JSON.stringify([{ op: "add", path: place, value: true }]);
  for (const kind of kinds) {
    await kubectl.run(["patch", "crd", `${kind}.endpoint-operator.dev`, "--type=json", "--patch", change]);
  }
}

/** Adds such a field. The operator reads the whole status again, by name, before it next writes it. */
async function addFutureField({ kubectl }: OwnApiServer, name: string): Promise<void> {
  const change = JSON.stringify({ status: { ofTheFuture: "yes" } });
  const patch = ["patch", name, "--subresource=status", "--type=merge", "--patch", change];
  await kubectl.run(["-n", namespace, ...patch]);
}

/** Stories that need every kind: create, edit, rotate, another account, delete. */
async function tellStories(planes: PlaneWorld, own: OwnApiServer): Promise<void> {
  const { world, access } = planes;
  await world.apply("orders", orders);
  await world.untilReady("orders");
  await access.apply("app", {});
  await access.untilReady("app");
  for (const name of ["cpe/orders", "dba/app"]) await addFutureField(own, name);
  await access.annotate("app", "rotateRequestedAt", "now");
  await access.until("app", "rotated", ({ status }) => status.lastHandledRotateAt === "now");
  await planes.apply("controlplane/second");
  await planes.apply("clustercontrolplane/second");
  for (const name of ["controlplane/second", "clustercontrolplane/second"] as const) {
    await planes.until(name, "Ready", ({ status }) => conditionOf(status.conditions, "Ready")?.status === "True");
    await addFutureField(own, name);
  }
  const users = { near: "ControlPlane", far: "ClusterControlPlane" };
  const second = [branches.main, branches.staging];
  for (const [index, [name, kind]] of Object.entries(users).entries()) {
    const controlPlaneRef = { kind, name: "second" };
    await world.apply(name, { ...orders, branchId: second[index] ?? "", controlPlaneRef });
    await world.untilReady(name);
  }
  // The same event again changes the count of the first one.
  for (const maxUnits of [1, 2, 4]) {
    await world.apply("orders", { ...orders, compute: { minUnits: 0.25, maxUnits } });
    await world.untilReady("orders");
  }
  await own.kubectl.run(["-n", namespace, "delete", "dba/app", "cpe/near", "cpe/far", "cpe/orders", "--timeout=60s"]);
  await own.kubectl.run(["-n", namespace, "delete", "controlplane/second", "--timeout=60s"]);
  await own.kubectl.run(["delete", "clustercontrolplane/second", "--timeout=60s"]);
}

async function startOperator(own: OwnApiServer, { environment }: Variant): Promise<World> {
  const { kubeconfig, keyFile } = await operatorFiles(own);
  await writeFile(keyFile, "");
  const place = { namespace, kubectl: own.kubectl, kubeconfigFile: own.apiServer.kubeconfigFile };
  const world = await startWorldAt(place, {
    operatorKubeconfig: kubeconfig,
    environment: {
      ...{ LEADER_ELECTION: "true", CONTROL_PLANE_API_KEY: "", CONTROL_PLANE_API_KEY_FILE: keyFile },
      ...{ CONTROL_PLANE_API_KEY_SECRET: "control-plane-api-key/api-key", ...environment },
    },
  });
  const key = await world.sandbox.newKey("of the Secret");
  const create = ["-n", home, "create", "secret", "generic", "control-plane-api-key", `--from-literal=api-key=${key}`];
  await own.kubectl.run(create);
  return world;
}

test.each(variants)(
  "an operator for %s → its stories need every shipped right, and no other",
  { timeout: 240_000 },
  async (_, variant) => {
    const own = await startOwnApiServer();
    await own.kubectl.run(["create", "namespace", namespace]);
    for (const folder of variant.folders) {
      await own.kubectl.run(["apply", "--server-side", "-k", folderOf(folder)]);
    }
    await allowFutureFields(own);
    const world = await startOperator(own, variant);
    const second = await startSecondSandbox();
    const planes = new PlaneWorld(world, second);
    if (variant.maySecrets) await planes.access.allowSecrets();
    await planes.secret("second-key", second.apiKey);
    await tellStories(planes, own);
    const rights = await rightsOf(own);
    expect(rights.length).toBeGreaterThan(20);
    if (variant.environment.METRICS_AUTH !== undefined) {
      const token = await own.kubectl.run(["--namespace", home, "create", "token", account]);
      expect((await world.scrape(secret(token.trim()))).status).toBe(403);
    }
    let unused: readonly Right[] = rights;
    await waitUntil(
      async () => {
        unused = await unusedRights(own, rights);
        return unused.length === 0 || undefined;
      },
      { what: "every right is used", lastSeen: () => unused },
    );
    const refused = (await requestsOf(own)).filter(({ responseStatus }) => responseStatus?.code === 403);
    expect(refused.map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([]);
  },
);
