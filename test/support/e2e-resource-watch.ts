/** Records every state that resources go through. */
import path from "node:path";
import { sharedApiServer } from "./api-server.ts";
import { checkConditions } from "./check-conditions.ts";
import { bareEnvironment, type RunningProgram, startProgram } from "./e2e-program.ts";
import { type StoredResource, untilStored } from "./stored-resource.ts";
import { waitUntil } from "./wait-until.ts";

interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: StoredResource;
}

/** Every state of the resources of a namespace, as `kubectl get --watch` shows them to an administrator. */
export class KubectlWatch {
  readonly #program: RunningProgram;
  readonly #latest = new Map<string, StoredResource>();
  readonly #breaches: string[] = [];
  #readTo = 0;

  private constructor(program: RunningProgram) {
    this.#program = program;
  }

  static async start(namespace: string): Promise<KubectlWatch> {
    const { assets, kubeconfigFile } = sharedApiServer();
    const what = ["get", "computeendpoints", "--namespace", namespace];
    const how = ["--watch", "--output-watch-events", "--output=json", "--kubeconfig", kubeconfigFile];
    const cache = ["--cache-dir", path.join(path.dirname(kubeconfigFile), "kubectl-cache")];
    const program = await startProgram({
      command: assets.kubectl,
      args: [...what, ...how, ...cache],
      env: bareEnvironment,
    });
    return new KubectlWatch(program);
  }

  /** Returns the last seen state of the resource; `undefined`: it does not exist. */
  get(name: string): StoredResource | undefined {
    this.#read();
    return this.#latest.get(name);
  }

  /** Waits until the resource is in the wanted state. */
  until(name: string, what: string, isWanted: (resource: StoredResource) => boolean): Promise<StoredResource> {
    const get = async () => this.get(name);
    const lastSeen = (seen?: StoredResource) => seen ?? this.#program.stderr();
    return untilStored({ get, what: `${name}: ${what}`, lastSeen }, isWanted);
  }

  async untilGone(name: string): Promise<void> {
    await waitUntil(() => (this.get(name) === undefined ? true : undefined), {
      what: `${name} is gone`,
      lastSeen: () => this.get(name),
    });
  }

  /** Returns all seen states, as text. */
  text(): string {
    return this.#program.stdout();
  }

  /** Returns the seen statuses that broke the rules of conditions. */
  breaches(): readonly string[] {
    this.#read();
    return this.#breaches;
  }

  async stop(): Promise<void> {
    await this.#program.end("SIGKILL");
  }

  /** Reads the output of kubectl, which has one event in each line. The last line may be incomplete. */
  #read(): void {
    const text = this.#program.stdout();
    for (let at = text.indexOf("\n", this.#readTo); at >= 0; at = text.indexOf("\n", this.#readTo)) {
      this.#take(JSON.parse(text.slice(this.#readTo, at)) as WatchEvent);
      this.#readTo = at + 1;
    }
  }

  #take({ type, object }: WatchEvent): void {
    const { name, generation } = object.metadata;
    this.#breaches.push(...checkConditions(object.status, generation).map((breach) => `${name}: ${breach}`));
    if (type === "DELETED") {
      this.#latest.delete(name);
    } else {
      this.#latest.set(name, object);
    }
  }
}
