import { writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Kubectl } from "../../demo/scene/kubectl.ts";
import { type SandboxAddress, send } from "../../demo/scene/sandbox-client.ts";
import { waitUntil } from "../../process/wait-until.ts";

/** Where the activity takes place. */
export interface ActivityPlace {
  readonly kubectl: Kubectl;
  /** A path for a file of this name that is gone afterwards. */
  readonly file: (name: string) => string;
  readonly sandbox: SandboxAddress;
  readonly signal: AbortSignal;
}

interface Resource {
  readonly name: string;
  readonly projectId: string;
  readonly branchId: string;
}

const namespace = "shop";
const names = ["orders", "billing", "search", "stock", "reviews", "reports", "carts", "users"];
const sizes = [0.25, 0.5, 1, 2];

/**
 * Some minutes in the life of eight resources: they are made, their sizes change, computes rest and wake, operations
 * fail, the service throttles. At the end one failure is open, one resource is stalled and one operation goes on.
 */
export async function playActivity(place: ActivityPlace, durationMs: number): Promise<void> {
  const endMs = performance.now() + durationMs;
  await place.kubectl.run(["create", "namespace", namespace]);
  const resources: Resource[] = [];
  for (const name of names) {
    const resource = await createBranch(place, name);
    resources.push(resource);
    await apply(place, resource, 0.25);
  }
  // Wants the branch of another one, and waits for a person.
  const [first] = resources;
  if (first !== undefined) await apply(place, { ...first, name: "old-site" }, 0.25);
  for (let turn = 1; performance.now() < endMs; turn += 1) {
    const resource = resources[turn % (resources.length - 1)];
    if (resource === undefined) throw new Error("there are no resources");
    await takeTurn(place, resource, turn);
    await pause(place, 1_500);
  }
  await leaveWork(place, resources);
}

async function takeTurn(place: ActivityPlace, resource: Resource, turn: number): Promise<void> {
  if (turn % 9 === 0)
    await control(place, "/operations/fail-next", { action: turn % 2 === 0 ? "start_compute" : "apply_config" });
  if (turn % 11 === 0)
    await control(place, "/faults", fault("/projects/*/operations", 1, { status: 429, retryAfterSeconds: 2 }));
  if (turn % 13 === 0) await control(place, "/faults", fault("/projects/*/endpoints/*", 3, { status: 503 }));
  if (turn % 3 === 0) await power(place, resource, turn % 2 === 0 ? "suspend" : "start");
  else await apply(place, resource, sizes[turn % sizes.length] ?? 1);
}

/** Ends with something open: a failed start, and work that takes its time. */
async function leaveWork(place: ActivityPlace, resources: readonly Resource[]): Promise<void> {
  const [orders, billing] = resources;
  if (orders === undefined || billing === undefined) throw new Error("there are no resources");
  await pause(place, 8_000);
  await power(place, orders, "suspend");
  await pause(place, 4_000);
  await control(place, "/operations/fail-next", { action: "start_compute", error: "no compute node has room" });
  await power(place, orders, "start");
  await pause(place, 6_000);
  // A size that none of the turns asks for.
  await apply(place, billing, 4);
  await pause(place, 2_500);
}

async function createBranch({ sandbox, signal }: ActivityPlace, name: string): Promise<Resource> {
  const created = (await send(
    { method: "POST", path: "/api/v2/projects", body: { project: { name } }, isAuthorized: true },
    sandbox,
  )) as { readonly project: { readonly id: string } };
  const projectId = created.project.id;
  const branch = await waitUntil(
    () =>
      send(
        {
          method: "POST",
          path: `/api/v2/projects/${projectId}/branches`,
          body: { branch: { name } },
          isAuthorized: true,
        },
        sandbox,
      ).catch(() => undefined) as Promise<{ readonly branch: { readonly id: string } } | undefined>,
    { what: `${name} has a branch`, signal },
  );
  return { name, projectId, branchId: branch.branch.id };
}

async function apply(
  { kubectl, file }: ActivityPlace,
  { name, projectId, branchId }: Resource,
  units: number,
): Promise<void> {
  const manifest = {
    apiVersion: "endpoint-operator.dev/v1alpha1",
    kind: "ComputeEndpoint",
    metadata: { name, namespace },
    spec: { projectId, branchId, type: "ReadWrite", compute: { minUnits: units, maxUnits: units } },
  };
  const manifestFile = file(`${name}.json`);
  await writeFile(manifestFile, JSON.stringify(manifest));
  await kubectl.run(["apply", "-f", manifestFile]);
}

/** Somebody else's call; when the project is busy it is left out. */
async function power({ sandbox }: ActivityPlace, { projectId, branchId }: Resource, verb: "start" | "suspend") {
  const path = `/api/v2/projects/${projectId}/endpoints`;
  const { endpoints } = (await send({ method: "GET", path, isAuthorized: true }, sandbox)) as {
    readonly endpoints: readonly { readonly id: string; readonly branch_id: string }[];
  };
  const endpoint = endpoints.find(({ branch_id: branch }) => branch === branchId);
  if (endpoint === undefined) return;
  await send({ method: "POST", path: `${path}/${endpoint.id}/${verb}`, isAuthorized: true }, sandbox).catch(
    () => undefined,
  );
}

async function control({ sandbox }: ActivityPlace, path: string, body: object): Promise<void> {
  await send({ method: "POST", path: `/sandbox/v1${path}`, body, isAuthorized: false }, sandbox);
}

function fault(path: string, times: number, effect: { readonly status: number; readonly retryAfterSeconds?: number }) {
  return { match: { path, times }, effect: { kind: "status", ...effect } };
}

async function pause({ signal }: ActivityPlace, durationMs: number): Promise<void> {
  await delay(durationMs, undefined, { signal });
}
