// The floor of the operator's benchmark: it makes only the calls that cannot be avoided, and decides nothing.
// Usage: floor.ts TASK_FILE; it ends when every resource is Ready.
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "undici";
import { send } from "../common/load.ts";
import { type CreateAnswer, FloorStatuses } from "./floor-status.ts";
import { type KubeAccess, KubeClient, mostConnections } from "./kube-client.ts";
import { listPopulation, resourcesPath, type StoredResource } from "./population.ts";

const finalizer = "endpoint-operator.dev/endpoint";

/** The operator reads a young operation for the first time after the same delay. */
const pollMs = 250;

/** The work of the floor, which its process receives as JSON. */
export interface FloorTask {
  readonly kube: KubeAccess;
  readonly namespace: string;
  readonly sandboxOrigin: string;
  readonly apiKey: string;
  /** A resource that an operator has brought up. */
  readonly example: StoredResource;
}

class Floor {
  readonly #task: FloorTask;
  readonly #kube: KubeClient;
  readonly #pool: Pool;
  readonly #statuses: FloorStatuses;

  constructor(task: FloorTask, kube: KubeClient) {
    this.#task = task;
    this.#kube = kube;
    this.#pool = new Pool(task.sandboxOrigin, { connections: mostConnections, pipelining: 1 });
    this.#statuses = new FloorStatuses(task.example);
  }

  async run(): Promise<void> {
    const resources = await listPopulation(this.#kube, this.#task.namespace);
    const byProject = Map.groupBy(resources, ({ spec }) => spec.projectId);
    await Promise.all([...byProject].map(([projectId, members]) => this.#bringUp(projectId, members)));
    await Promise.all([this.#kube.close(), this.#pool.destroy()]);
  }

  /**
   * Brings up the resources of a project one after the other, because the control plane locks the project. Other work
   * goes on meanwhile.
   */
  async #bringUp(projectId: string, resources: readonly StoredResource[]): Promise<void> {
    const settled: Promise<unknown>[] = [];
    let [current, ...rest] = resources;
    current = current && (await this.#addFinalizer(current));
    while (current !== undefined) {
      const [next, ...others] = rest;
      const finalized = next && this.#addFinalizer(next);
      const { stored, answer } = await this.#create(projectId, current);
      await this.#untilFinished(projectId, answer);
      settled.push(this.#patch(stored, { status: this.#statuses.ready(answer) }, "/status"));
      [current, rest] = [await finalized, others];
    }
    await Promise.all(settled);
  }

  #addFinalizer(resource: StoredResource): Promise<StoredResource> {
    return this.#patch(resource, { metadata: { finalizers: [finalizer] } });
  }

  async #create(projectId: string, resource: StoredResource) {
    const noted = await this.#patch(resource, { status: this.#statuses.intent(resource) }, "/status");
    const endpoint = {
      branch_id: resource.metadata.name,
      type: "read_write",
      autoscaling_limit_min_cu: 0.25,
      autoscaling_limit_max_cu: 1,
      suspend_timeout_seconds: -1,
    };
    const answer = await this.#call<CreateAnswer>("POST", `/projects/${projectId}/endpoints`, { endpoint });
    const stored = await this.#patch(noted, { status: this.#statuses.inFlight(noted, answer) }, "/status");
    return { stored, answer };
  }

  async #untilFinished(projectId: string, { operations }: CreateAnswer): Promise<void> {
    const own = new Set(operations.map(({ id }) => id));
    for (;;) {
      await delay(pollMs);
      const path = `/projects/${projectId}/operations?limit=100`;
      const listed = await this.#call<{ operations: readonly { id: string; status: string }[] }>("GET", path);
      if (listed.operations.every(({ id, status }) => !own.has(id) || status === "finished")) return;
    }
  }

  #patch(resource: StoredResource, changes: Changes, subresource: "" | "/status" = ""): Promise<StoredResource> {
    const { name, uid, resourceVersion } = resource.metadata;
    const path = `${resourcesPath(this.#task.namespace, name)}${subresource}?${writeQuery}`;
    return this.#kube.patch(path, { ...changes, metadata: { ...changes.metadata, uid, resourceVersion } });
  }

  async #call<Body>(method: "GET" | "POST", path: string, body?: object): Promise<Body> {
    const headers = { authorization: `Bearer ${this.#task.apiKey}`, "content-type": "application/json" };
    const request = { method, path: `/api/v2${path}`, headers, ...(body && { body: JSON.stringify(body) }) };
    return JSON.parse(await send(this.#pool, request)) as Body;
  }
}

/** The same query as that of the operator's writes, so that `metadata.managedFields` is as large. */
const writeQuery = "fieldManager=endpoint-operator&fieldValidation=Ignore";

interface Changes {
  readonly metadata?: object;
  readonly status?: object;
}

try {
  const task = JSON.parse(await readFile(process.argv[2] ?? "", "utf8")) as FloorTask;
  await new Floor(task, await KubeClient.open(task.kube)).run();
  console.log("floor done");
} catch (error) {
  console.error(error);
  process.exit(1);
}
// The benchmark first reads the used processor time and memory, and then ends the process.
setInterval(() => {}, 60_000);
