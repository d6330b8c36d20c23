/** What the commands of `kubectl endpoints` do. */
import { setTimeout } from "node:timers/promises";
import { stringify } from "yaml";
import type { ObservedBranch } from "../domain/branch.ts";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import { ownerAnnotation } from "../kinds/branch/branch-types.ts";
import {
  computeEndpointKind,
  databaseAccessKind,
  databaseBranchKind,
  planeKinds,
} from "../kubernetes/store/resource-kinds.ts";
import {
  type ComputeEndpoint,
  isObserved,
  noProject,
  planeOf,
  projectIdOf,
  workProjectOf,
} from "../resource/compute-endpoint.ts";
import { idOfPlane, planeIdOf } from "../resource/control-plane-resource.ts";
import type { DatabaseBranch } from "../resource/database-branch.ts";
import { isTokenOfCluster, ownershipToken } from "../resource/identity.ts";
import { annotations, group } from "../resource/names.ts";
import { systemClock } from "../runtime/system-clock.ts";
import { Cluster, openService, orRefusal, parseName, type ReadKind } from "./cluster.ts";
import { adoptionManifest, endpointsText, operationsText, usageOf, usageText, withTotals } from "./listings.ts";
import { applied, filesIn, type Manifest, readManifests } from "./manifests.ts";
import { planBranch, planNow, planned } from "./plan.ts";
import { requireUrl } from "./plane.ts";
import { type Explained, exitCodes, explained, type Result, worstOf } from "./why.ts";

export type Io = Pick<NodeJS.Process, "env" | "stderr" | "stdin" | "stdout">;

export interface Options {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly output: string;
  readonly allNamespaces?: true;
  readonly selector?: string;
  readonly filename?: readonly string[];
  readonly wait?: true;
  readonly observe?: true;
  readonly controlPlane?: string;
  readonly project?: readonly string[];
}

/** The kinds with operations, whose next step can be planned. */
const plannedKinds: readonly ReadKind<ComputeEndpoint | DatabaseBranch>[] = [computeEndpointKind, databaseBranchKind];
const explainedKinds: readonly ReadKind<Explained>[] = [
  ...[computeEndpointKind, databaseAccessKind, databaseBranchKind],
  ...Object.values(planeKinds),
];

/** The annotation that asks for something, and the field of status that repeats a handled value. */
const powers = {
  wake: [annotations.wakeRequestedAt, "lastHandledWakeAt"],
  suspend: [annotations.suspendRequestedAt, "lastHandledSuspendAt"],
} as const;

/** One command. Its connections stay open until the process ends, right after it. */
export class PluginRun {
  exitCode: number = exitCodes.ok;
  readonly #io: Io;
  readonly #userAgent: string;
  readonly #options: Options;
  readonly #cluster: Cluster;
  readonly #namespace: string;
  #opened: ReturnType<typeof openService> | undefined;

  /** @throws KubeconfigError */
  constructor(io: Io, userAgent: string, options: Options) {
    this.#io = io;
    this.#userAgent = userAgent;
    this.#options = options;
    this.#cluster = new Cluster(options.kubeconfig ?? io.env.KUBECONFIG, options.context, userAgent);
    this.#namespace = options.namespace ?? this.#cluster.namespace;
  }

  async why(names: readonly string[]): Promise<void> {
    await this.#report(await this.#selected(names, explainedKinds), async (resource) => explained(resource));
  }

  async ops(names: readonly string[]): Promise<void> {
    const found = await this.#selected(names, plannedKinds);
    const value = found.flatMap(({ key, status }) => (status.operations ?? []).map((each) => ({ ...key, ...each })));
    this.#print(value, operationsText(value, this.#options.allNamespaces));
  }

  /** With CONTROL_PLANE_URL, it also reads what the control plane counts for each branch, where it is shown. */
  async usage(names: readonly string[]): Promise<void> {
    const service = this.#io.env.CONTROL_PLANE_URL === undefined ? undefined : this.#service().controlPlane;
    const show = async (resource: ComputeEndpoint) => {
      const { ownership, branchId } = resource.status;
      const isThere = branchId !== undefined && ownership?.serviceUrl === service?.serviceUrl;
      const branch = isThere ? { projectId: workProjectOf(resource), branchId } : undefined;
      return usageOf(resource, systemClock.nowMs(), branch && (await service?.branchUnitSeconds(branch)));
    };
    const rows = await this.#each(await this.#selected(names, [computeEndpointKind]), show, nameOf);
    const all = withTotals(rows.filter((row) => row !== undefined));
    this.#print(all, usageText(all));
  }

  async plan(names: readonly string[]): Promise<void> {
    const { filename: files } = this.#options;
    const found = await (files ? this.#inFiles(files) : this.#selected(names, plannedKinds));
    const latest = found.flatMap((each) => ("place" in each ? [] : [each]));
    const reads = { cluster: this.#cluster, clock: systemClock, latest, ...this.#service() };
    await this.#report(found, async (resource) =>
      planned(await ("place" in resource ? planBranch(reads, resource) : planNow(reads, resource))),
    );
  }

  async adopt(): Promise<void> {
    const { endpoints, ref } = await this.#unowned(this.#namespace);
    const how = { controlPlaneRef: ref, isObserved: this.#options.observe === true };
    const items = endpoints.map((endpoint) => adoptionManifest(endpoint, this.#namespace, how));
    const list = { apiVersion: "v1", kind: "List", items };
    this.#print(list, stringify(list));
  }

  async orphans(): Promise<void> {
    const found = await orRefusal(this.#cluster.list(databaseBranchKind));
    if (found === "Forbidden") this.#io.stderr.write("You may not list DatabaseBranches, so no branches are shown.\n");
    const resources = typeof found === "string" ? undefined : found;
    const { endpoints, projects } = await this.#unowned(undefined, resources);
    const branches = resources ? await this.#orphanedBranches(projects, resources) : [];
    const all = [...endpoints, ...branches];
    this.#print(all, endpointsText(all));
  }

  /** Finds the branches that this cluster created, and whose DatabaseBranch is gone. */
  async #orphanedBranches(projects: readonly string[], resources: readonly DatabaseBranch[]) {
    const { controlPlane: service, settings } = this.#service();
    // Without the id of the cluster, the endpoints are shown nevertheless.
    const [clusterId] = await this.#each(["branches"], () => settings.clusterId ?? this.#cluster.clusterId());
    if (clusterId === undefined) return [];
    const known = new Set(resources.map(({ uid }) => ownershipToken(clusterId, uid)));
    const isOrphan = (branch: ObservedBranch) => {
      const token = branch.annotation[ownerAnnotation];
      return token !== undefined && isTokenOfCluster(token, clusterId) && !known.has(token);
    };
    const orphansOf = async (projectId: string) => {
      const { branches = [] } = (await service.listBranches(projectId)) ?? {};
      return branches.filter(isOrphan).map(({ id, state }) => ({ projectId, branchId: id, state }));
    };
    return (await this.#each(projects, orphansOf)).flat();
  }

  readonly wake = (names: readonly string[]) => this.#askFor("wake", names);
  readonly suspend = (names: readonly string[]) => this.#askFor("suspend", names);

  /** The operator acts once for each new value of the annotation. The last command counts: it withdraws an earlier one. */
  async #askFor(action: keyof typeof powers, names: readonly string[]): Promise<void> {
    const [annotation, handled] = powers[action];
    const value = new Date().toISOString();
    const withdrawn = Object.fromEntries(Object.values(powers).map(([name]) => [name, null]));
    await this.#report(await this.#selected(names, [computeEndpointKind]), async (endpoint) => {
      const { key, spec } = endpoint;
      if (isObserved(endpoint))
        throw new Error("spec.management is Observe: the operator only observes it, and does not start or suspend it.");
      if (action === "wake" && spec.kind === "Valid" && spec.spec.disabled === true)
        throw new Error("spec.disabled is true, so the operator would not start it.");
      await this.#cluster.annotate(key, { ...withdrawn, [annotation]: value });
      if (this.#options.wait === true) {
        return await this.#untilHandled(key, ({ status }) => status[handled] === value);
      }
      const resource = keyText(key);
      const text = `${resource}: asked to ${action} with ${annotation}=${value}\n`;
      return { value: { resource, action, annotation, value }, text, exitCode: exitCodes.ok };
    });
  }

  /** Waits until the operator has done it, or a person must act first. @throws Error after two minutes */
  async #untilHandled(key: ResourceKey, isHandled: (resource: ComputeEndpoint) => boolean): Promise<Result> {
    const endMs = systemClock.monotonicMs() + 120_000;
    while (systemClock.monotonicMs() < endMs) {
      const resource = await this.#cluster.get(computeEndpointKind, key);
      const result = explained(resource);
      const { waitsFor, reason } = result.value;
      const isBlocked = waitsFor === "Person" && reason !== "OperationFailed";
      if (isHandled(resource) ? waitsFor !== "Operator" : isBlocked) return result;
      await setTimeout(1_000);
    }
    throw new Error("The operator has not done it within two minutes.");
  }

  /** A name selects one object. Without names, options select objects of the first kind. */
  async #selected<Resource>(
    names: readonly string[],
    kinds: readonly ReadKind<Resource>[],
  ): Promise<readonly Resource[]> {
    if (names.length > 0) {
      const parsed = names.map((name) => ({ name, ...parseName(name, this.#namespace, kinds) }));
      const read = ({ kind, key }: (typeof parsed)[number]) => this.#cluster.get(kind, key);
      return await this.#each(parsed, read, ({ name }) => name);
    }
    const { allNamespaces, selector } = this.#options;
    const [first] = kinds;
    const found = first ? await this.#cluster.list(first, allNamespaces ? undefined : this.#namespace, selector) : [];
    if (found.length === 0) this.#io.stderr.write("No ComputeEndpoints found.\n");
    return found;
  }

  async #inFiles(names: readonly string[]): Promise<readonly ComputeEndpoint[]> {
    const { stdin, stderr } = this.#io;
    const files = (await this.#each(names, filesIn)).flat();
    const manifests = (await this.#each(files, (file) => readManifests(file, stdin))).flat();
    const found = manifests.filter(({ kind }) => kind === computeEndpointKind.kind);
    if (found.length === 0) throw new Error(`${names.join(", ")}: no ComputeEndpoint found.`);
    const nameIn = ({ metadata }: Manifest) => metadata?.name ?? "a resource without a name";
    const others = manifests.filter((each) => !found.includes(each) && each.apiVersion?.startsWith(group));
    for (const each of others) stderr.write(`${each.kind} ${nameIn(each)}: not planned, it is no ComputeEndpoint\n`);
    const stored = async (manifest: Manifest) => {
      const { resource, isChecked } = await applied(manifest, this.#cluster, this.#namespace);
      if (!isChecked) stderr.write(`${nameIn(manifest)}: you may not write it, so the API server has not checked it\n`);
      return resource;
    };
    return await this.#each(found, stored, nameIn);
  }

  /**
   * Finds the endpoints without a resource. A project that cannot be read does not stop the others.
   * @param namespace whose resources name the projects. @default all namespaces
   * @param branches which name projects too
   */
  async #unowned(namespace?: string, branches: readonly DatabaseBranch[] = []) {
    const { controlPlane: service } = this.#service();
    const { controlPlane: name } = this.#options;
    const named = name === undefined ? undefined : parseName(name, this.#namespace, Object.values(planeKinds));
    const resource = named && (await this.#cluster.get(named.kind, named.key));
    if (resource) requireUrl(service.serviceUrl, { id: idOfPlane(resource), resource });
    const ref = resource && { kind: resource.kind, name: resource.key.name };
    const resources = await this.#cluster.list(computeEndpointKind);
    const isNamed = ({ key }: ComputeEndpoint) => namespace === undefined || key.namespace === namespace;
    const planeId = planeIdOf(ref, this.#namespace);
    const there = resources.filter((each) => planeOf(each) === planeId && isNamed(each));
    const places = branches.map(({ place }) => place).filter((place) => place.planeId === planeId);
    const ids = [...there.flatMap((each) => projectIdOf(each) ?? []), ...places.map(({ projectId }) => projectId)];
    const projects = this.#options.project ?? [...new Set(ids)].filter((id) => id !== noProject).sort();
    if (projects.length === 0) throw new Error("No resource names a project. Name each with --project ID.");
    const read = async (projectId: string) => ({ projectId, ...(await service.listEndpoints(projectId)) });
    const lists = await this.#each(projects, read);
    // Another control plane may have an endpoint of the same id.
    const isHere = ({ status: { ownership } }: ComputeEndpoint) =>
      ownership === undefined || ownership.serviceUrl === service.serviceUrl;
    const owned = new Set(resources.filter(isHere).flatMap(({ claimedId }) => claimedId ?? []));
    const endpoints = lists.flatMap((list) => list.endpoints.filter(({ id }) => !owned.has(id)));
    return { endpoints, ref, projects: lists.map(({ projectId }) => projectId) };
  }

  #service() {
    this.#opened ??= openService(this.#io.env, this.#userAgent);
    return this.#opened;
  }

  /** Works on each item, also after a failure. @param nameOf the name of an item in the message about its failure */
  async #each<Item, Value>(
    items: readonly Item[],
    work: (item: Item) => Value | Promise<Value>,
    nameOf: (item: Item) => string = String,
  ): Promise<readonly Value[]> {
    const values: Value[] = [];
    for (const item of items) {
      try {
        values.push(await work(item));
      } catch (error) {
        this.#io.stderr.write(`${nameOf(item)}: ${error instanceof Error ? error.message : error}\n`);
        this.exitCode = exitCodes.failed;
      }
    }
    return values;
  }

  /** Shows one result for each. The worst exit code counts. */
  async #report<Resource extends Named>(resources: readonly Resource[], show: (resource: Resource) => Promise<Result>) {
    const results = await this.#each(resources, show, nameOf);
    this.exitCode = worstOf([this.exitCode, ...results.map(({ exitCode }) => exitCode)]);
    const values = results.map(({ value }) => value);
    this.#print(values.length === 1 ? values[0] : values, results.map(({ text }) => text).join(""));
  }

  #print(value: unknown, text: string): void {
    this.#io.stdout.write(this.#options.output === "json" ? `${JSON.stringify(value, undefined, 2)}\n` : text);
  }
}

type Named = { readonly key: ResourceKey };

const nameOf = ({ key }: Named) => keyText(key);
