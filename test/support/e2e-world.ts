/** A world of processes: a sandbox, an operator, and a namespace of the shared API server. */
import { expect, onTestFinished } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { annotations } from "../../src/resource/names.ts";
import {
  type AuditEvent,
  adminKubectl,
  createTestNamespace,
  isWrite,
  readAuditEvents,
  type ServiceAccountAccess,
  serviceAccountAccess,
} from "./api-server.ts";
import { OperatorProcess } from "./e2e-operator.ts";
import { type ProgramOptions, preloadedOperator } from "./e2e-program.ts";
import { KubectlWatch } from "./e2e-resource-watch.ts";
import type { TestProject } from "./e2e-sandbox.ts";
import type { Kubectl } from "./kubectl.ts";
import { saveOutput } from "./outputs.ts";
import { isReady, type StoredResource } from "./stored-resource.ts";

/** The service account that deploy/base ships. */
export const shippedAccount = { namespace: "endpoint-operator-system", name: "endpoint-operator" } as const;

/** The operator's access to the control plane: its URL and its key. */
export interface ServiceAccess {
  readonly url: string;
  readonly apiKey: string;
}

/**
 * The world of one test, in which every program is its own process. It has a namespace of the shared API server, the
 * real kubectl, and operators with the shipped rights. It ends with the test. Then all outputs of operators are saved
 * where `npm test` searches them for keys and passwords.
 */
export class E2eWorld {
  readonly namespace: string;
  readonly kubectl: Kubectl = adminKubectl();
  readonly resources: KubectlWatch;
  readonly account: ServiceAccountAccess;
  readonly #defaults: Readonly<Record<string, string>>;
  readonly #operators: OperatorProcess[] = [];

  private constructor(
    { namespace, resources, account }: Pick<E2eWorld, "namespace" | "resources" | "account">,
    defaults: Readonly<Record<string, string>>,
  ) {
    this.namespace = namespace;
    this.resources = resources;
    this.account = account;
    this.#defaults = defaults;
  }

  /**
   * Makes a world for the running test, without an operator.
   * @param settings settings of all its operators
   */
  static async start(service: ServiceAccess, settings: Readonly<Record<string, string>> = {}): Promise<E2eWorld> {
    const namespace = await createTestNamespace("e2e");
    const account = await serviceAccountAccess(shippedAccount.namespace, shippedAccount.name);
    const resources = await KubectlWatch.start(namespace);
    const defaults = {
      CONTROL_PLANE_URL: service.url,
      CONTROL_PLANE_API_KEY: service.apiKey,
      KUBECONFIG: account.kubeconfigFile,
      WATCH_NAMESPACES: namespace,
      ...settings,
    };
    const world = new E2eWorld({ namespace, resources, account }, defaults);
    onTestFinished(() => world.#end());
    return world;
  }

  /**
   * Starts an operator and waits until it is ready.
   * @param settings they replace those of the world; `undefined` removes one.
   * @param how what to start instead of the plain bundle
   */
  async startOperator(
    settings: Readonly<Record<string, string | undefined>> = {},
    how?: Pick<ProgramOptions, "command" | "args">,
  ): Promise<OperatorProcess> {
    const all: Readonly<Record<string, string | undefined>> = { ...this.#defaults, ...settings };
    const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const operator = await OperatorProcess.start(Object.fromEntries(given), how);
    this.#operators.push(operator);
    return operator;
  }

  /** Starts an operator whose calls reach no time limit, for a test that holds answers. */
  startPatientOperator(settings: Readonly<Record<string, string>> = {}): Promise<OperatorProcess> {
    return this.startOperator(settings, preloadedOperator("patience.ts"));
  }

  /** Runs `kubectl apply` for one resource. */
  async apply(name: string, project: TestProject, spec: object): Promise<void> {
    const manifest = {
      apiVersion: "endpoint-operator.dev/v1alpha1",
      kind: "ComputeEndpoint",
      metadata: { name, namespace: this.namespace },
      spec: { projectId: project.id, branchId: project.branches[0], ...spec },
    };
    await this.kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify(manifest) });
  }

  /** Returns the resource as it is stored now. `resources` may show it some time later. */
  stored(name: string): Promise<StoredResource> {
    return this.kubectl.getJson<StoredResource>(["-n", this.namespace, "get", "cpe", name]);
  }

  async annotate(name: string, key: keyof typeof annotations, value: string): Promise<void> {
    const annotation = `${annotations[key]}=${value}`;
    await this.kubectl.run(["-n", this.namespace, "annotate", "--overwrite", "cpe", name, annotation]);
  }

  /** Requests the deletion, and does not wait for it. */
  async delete(...names: readonly string[]): Promise<void> {
    await this.kubectl.run(["-n", this.namespace, "delete", "cpe", ...names, "--wait=false"]);
  }

  /** Waits until it is Ready for the generation that is stored now. The watch of the test may be behind that. */
  async untilReady(name: string): Promise<StoredResource> {
    const { generation } = (await this.stored(name)).metadata;
    const isReadyNow = (each: StoredResource) => each.metadata.generation >= generation && isReady(each);
    return await this.resources.until(name, `Ready for generation ${generation}`, isReadyNow);
  }

  untilStalled(name: string, reason: string): Promise<StoredResource> {
    const isStalled = ({ status }: StoredResource) => conditionOf(status.conditions, "Stalled")?.reason === reason;
    return this.resources.until(name, `Stalled ${reason}`, isStalled);
  }

  untilReadyReason(name: string, reason: string): Promise<StoredResource> {
    const isSo = ({ status }: StoredResource) => conditionOf(status.conditions, "Ready")?.reason === reason;
    return this.resources.until(name, `Ready with reason ${reason}`, isSo);
  }

  /** Returns the operators' writes in this namespace, including events, oldest first. */
  operatorWrites(): Promise<readonly AuditEvent[]> {
    const username = `system:serviceaccount:${shippedAccount.namespace}:${shippedAccount.name}`;
    return readAuditEvents(
      (event) => isWrite(event) && event.objectRef?.namespace === this.namespace && event.user.username === username,
    );
  }

  async #end(): Promise<void> {
    const exits = await Promise.all(this.#operators.map(endOf));
    const events = await this.kubectl.run(["-n", this.namespace, "get", "events.events.k8s.io", "-o", "yaml"]);
    const others = await this.kubectl.run(["-n", this.namespace, "get", "dba,controlplanes", "-o", "yaml"]);
    await this.resources.stop();
    expect(exits, "how the operators ended that the test had not ended").toEqual(exits.map(() => "well"));
    expect(this.resources.breaches(), "what conditions broke").toEqual([]);
    saveOutput("events", events);
    saveOutput("status", `${this.resources.text()}\n${others}`);
    for (const operator of this.#operators) {
      saveOutput("logs", operator.output());
      saveOutput("metrics", operator.scrapes().join("\n"));
    }
  }
}

/** Stops an operator that the test has left running. */
async function endOf(operator: OperatorProcess): Promise<string> {
  if (operator.exit !== undefined) {
    return "well";
  }
  const exit = await operator.stop();
  return exit.code === 0 ? "well" : `${JSON.stringify(exit)} ${operator.output().slice(-2_000)}`;
}
