// The floor of the operator's benchmark: it makes only the calls that cannot be avoided, and decides nothing.
// Usage: floor.ts TASK_FILE; it ends when every resource is Ready.
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "undici";
import { send } from "../common/load.ts";
import { type CreateAnswer, inFlightStatus, intentStatus, readyStatus } from "./floor-status.ts";
import { type KubeAccess, KubeClient } from "./kube-client.ts";
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
  /** The maximum number of calls at the same time. */
  readonly workers: number;
}

/**
 * Limits the calls at the same time to the operator's number of workers. A resource that waits for an operation does
 * not count.
 */
class CallLimit {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async run<Value>(call: () => Promise<Value>): Promise<Value> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await call();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

class Floor {
  readonly #task: FloorTask;
  readonly #kube: KubeClient;
  readonly #pool: Pool;
  readonly #limit: CallLimit;

  constructor(task: FloorTask, kube: KubeClient) {
    this.#task = task;
    this.#kube = kube;
    this.#pool = new Pool(task.sandboxOrigin, { connections: task.workers, pipelining: 1 });
    this.#limit = new CallLimit(task.workers);
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
      const ready = readyStatus(answer);
      settled.push(this.#patch(stored, { status: ready }, "/status"));
      [current, rest] = [await finalized, others];
    }
    await Promise.all(settled);
  }

  #addFinalizer(resource: StoredResource): Promise<StoredResource> {
    return this.#patch(resource, { metadata: { finalizers: [finalizer] } });
  }

  async #create(projectId: string, resource: StoredResource) {
    const branchId = resource.metadata.name;
    const noted = await this.#patch(resource, { status: intentStatus(projectId, branchId) }, "/status");
    const endpoint = {
      branch_id: branchId,
      type: "read_write",
      autoscaling_limit_min_cu: 0.25,
      autoscaling_limit_max_cu: 1,
      suspend_timeout_seconds: -1,
    };
    const answer = await this.#call<CreateAnswer>("POST", `/projects/${projectId}/endpoints`, { endpoint });
    const status = inFlightStatus({ projectId, resourceUid: noted.metadata.uid }, answer);
    const stored = await this.#patch(noted, { status }, "/status");
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
    return this.#limit.run(() =>
      this.#kube.request<StoredResource>({
        method: "PATCH",
        path: `${resourcesPath(this.#task.namespace, name)}${subresource}?${writeQuery}`,
        contentType: "application/merge-patch+json",
        body: { ...changes, metadata: { ...changes.metadata, uid, resourceVersion } },
      }),
    );
  }

  #call<Body>(method: "GET" | "POST", path: string, body?: object): Promise<Body> {
    const headers = { authorization: `Bearer ${this.#task.apiKey}`, "content-type": "application/json" };
    const request = { method, path: `/api/v2${path}`, headers, ...(body && { body: JSON.stringify(body) }) };
    return this.#limit.run(async () => {
      const answer = await send(this.#pool, request);
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
      return JSON.parse(answer.body.toString()) as Body;
    });
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
  console.log("floor failed:", error);
}
// The benchmark first asks for the used processor time and memory, and then ends the process.
setInterval(() => {}, 60_000);
