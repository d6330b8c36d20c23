/** Runs DatabaseAccesses with an operator process that a test may kill. Each DatabaseAccess has its own project. */
import { onTestFinished } from "vitest";
import { AccessWorld } from "./access-world.ts";
import { sharedApiServer } from "./api-server.ts";
import type { SandboxProcess, TestProject } from "./e2e-sandbox.ts";
import { E2eWorld } from "./e2e-world.ts";
import type { RequestFault } from "./fault-proxy/fault.ts";
import type { FaultProxy } from "./fault-proxy/fault-proxy.ts";
import { startProxiedApiServer } from "./fault-proxy/proxied-api-server.ts";

/** The role that each access names. */
export const role = "orders_app";

/** The fault of a write at the API server before the operator is killed. */
export const writeFaults: readonly (readonly [string, RequestFault])[] = [
  ["that the API server never saw", { kind: "NeverAnswer" }],
  ["that the API server stored", { kind: "NeverFinish" }],
];

/** The fault of a change at the control plane before the operator is killed. */
export const changeFaults = [
  ["that is lost", "dropBefore"],
  ["that was made and whose answer did not come", "hold"],
] as const;

/** One DatabaseAccess, and the project that only it uses. */
export interface AccessOfProject {
  readonly name: string;
  readonly project: TestProject;
}

/** A namespace in which the operator may write Secrets. The operator reaches the API server through a proxy. */
export class AccessStage {
  readonly world: E2eWorld;
  readonly accesses: AccessWorld<E2eWorld>;
  readonly proxy: FaultProxy;
  readonly #sandbox: SandboxProcess;
  readonly #kubeconfigFile: string;

  private constructor(
    sandbox: SandboxProcess,
    parts: { readonly world: E2eWorld; readonly proxy: FaultProxy; readonly kubeconfigFile: string },
  ) {
    this.world = parts.world;
    this.accesses = new AccessWorld(parts.world);
    this.proxy = parts.proxy;
    this.#sandbox = sandbox;
    this.#kubeconfigFile = parts.kubeconfigFile;
  }

  /** Makes a stage for the running test, without an operator. */
  static async start(sandbox: SandboxProcess): Promise<AccessStage> {
    const world = await E2eWorld.start(sandbox);
    const { url, caFile } = sharedApiServer();
    const { proxy, kubeconfigFile } = await startProxiedApiServer({ ...world.account, url, caFile });
    onTestFinished(() => proxy.stop());
    const stage = new AccessStage(sandbox, { world, proxy, kubeconfigFile });
    await stage.accesses.allowSecrets();
    return stage;
  }

  /** Starts an operator that waits for an answer as long as the test holds it. */
  startOperator(): ReturnType<E2eWorld["startOperator"]> {
    return this.world.startPatientOperator({ KUBECONFIG: this.#kubeconfigFile });
  }

  /**
   * Applies the ComputeEndpoint and the DatabaseAccess.
   * @param spec fields of the DatabaseAccess that replace the usual ones
   */
  async applyBoth({ name, project }: AccessOfProject, spec: object = {}): Promise<void> {
    await this.world.apply(name, project, { type: "ReadWrite" });
    await this.accesses.apply(name, { endpointRef: { name }, ...spec });
  }

  /** Returns the names of the roles or databases that are on the branch now. */
  async names({ project }: AccessOfProject, kind: "roles" | "databases"): Promise<readonly string[]> {
    const path = `/projects/${project.id}/branches/${project.branches[0]}/${kind}`;
    const answer = await this.#sandbox.control.api<Record<string, readonly { readonly name: string }[]>>("GET", path);
    return (answer[kind] ?? []).map(({ name }) => name);
  }

  /**
   * Counts the requests that the control plane has carried out: its answer had a body, or a fault held the answer back.
   * A 204 means that there was nothing to delete.
   */
  async applied(
    { project }: AccessOfProject,
    method: "POST" | "DELETE",
    patterns: readonly RegExp[],
  ): Promise<readonly number[]> {
    const requests = await this.#sandbox.requests(project, method);
    const isApplied = ({ status, fault }: (typeof requests)[number]) =>
      fault === "dropAfter" || fault === "hold" || (status !== undefined && status < 300 && status !== 204);
    const done = requests.filter(isApplied);
    return patterns.map((pattern) => done.filter(({ path }) => pattern.test(path)).length);
  }
}
