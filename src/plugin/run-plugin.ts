import { readFile } from "node:fs/promises";
import { Command, CommanderError } from "commander";
import { parseGrantSettings } from "../config.ts";
import type { ControlPlaneClient } from "../control-plane/create-control-plane.ts";
import type { PowerAction } from "../domain/control-plane.ts";
import type { Plan } from "../kinds/endpoint/plan.ts";
import { type ComputeEndpoint, parseComputeEndpoint, planeOf, projectIdOf } from "../resource/compute-endpoint.ts";
import { type PlaneResource, planeIdOf, planeName, settingsPlane } from "../resource/control-plane-resource.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import { annotations } from "../resource/names.ts";
import { systemClock } from "../runtime/system-clock.ts";
import { type ClusterAccess, type Environment, openCluster, openService } from "./access.ts";
import { adoptionManifest, endpointsText, manifestsText, operationsText, unownedEndpoints } from "./listings.ts";
import {
  isPlaneName,
  type NamedPlane,
  namedBy,
  parsePlaneName,
  problemOf,
  type ReadPlane,
  requireRecordedUrl,
  requireSameUrl,
} from "./named-plane.ts";
import { appliedTo, type CheckedStep, manifestIn, planNow, planText } from "./plan-now.ts";
import { readGrants } from "./read-grants.ts";
import { accessNextSteps, exitCodeOf, exitCodes, explain, explanationText, nextSteps, planeNextSteps } from "./why.ts";

export interface PluginOptions {
  readonly env: Environment;
  readonly out: NodeJS.WritableStream;
  readonly err: NodeJS.WritableStream;
  readonly version: string;
}

interface CommonOptions {
  readonly namespace?: string;
  readonly output: string;
}

interface ListingOptions extends CommonOptions {
  readonly controlPlane?: string;
}

/** @returns the exit code, see `exitCodes`; 2: wrong usage */
export async function runPlugin(args: readonly string[], options: PluginOptions): Promise<number> {
  const run = new PluginRun(options);
  try {
    await commandsOf(run, options).parseAsync(args, { from: "user" });
    return run.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    const message = error instanceof Error ? error.message : String(error);
    options.err.write(`${message}\n`);
    return exitCodes.failed;
  } finally {
    await run.close();
  }
}

function commandsOf(run: PluginRun, { out, err, version }: PluginOptions): Command {
  const program = new Command("kubectl-endpoints")
    .description("Explains ComputeEndpoints and the endpoints of the control plane.")
    .version(version)
    .exitOverride()
    .configureOutput({ writeOut: (text) => out.write(text), writeErr: (text) => err.write(text) });
  const command = (usage: string, description: string) =>
    program
      .command(usage)
      .description(description)
      .option("-n, --namespace <namespace>", "namespace of the resource")
      .option("-o, --output <format>", "table or json", "table");
  const named = "dba/NAME for a DatabaseAccess, cpl/NAME and ccpl/NAME for a control plane";
  command("why <name>", `says why a resource is in its state, and what to do; ${named}`).action(run.why);
  command("ops <name>", "lists the operations of a resource").action(run.ops);
  command("plan [name]", "says what a fresh operator would do next; changes nothing")
    .option("-f, --filename <file>", "a ComputeEndpoint as YAML or JSON, stored already or not")
    .action(run.plan);
  command("adopt", "writes manifests that adopt every endpoint of a project that no resource owns")
    .requiredOption("--all", "every endpoint")
    .requiredOption("--project <id>", "project of the control plane")
    .option(...planeOption)
    .action(run.adopt);
  command("orphans", "lists the endpoints that no resource of this cluster owns")
    .option("--project <id>", "this project. Default: every project that a resource names")
    .option(...planeOption)
    .action(run.orphans);
  command("wake <name>", "starts the compute of a resource now").action(run.wake);
  command("suspend <name>", "suspends the compute of a resource now").action(run.suspend);
  return program;
}

const planeOption = [
  "--control-plane <name>",
  "controlplane/NAME or clustercontrolplane/NAME. Default: the control plane of the operator's settings",
] as const;

/** One run of the plugin. It connects when a command needs a connection, and closes all connections at the end. */
class PluginRun {
  exitCode: number = exitCodes.ok;
  readonly #options: PluginOptions;
  #cluster: ClusterAccess | undefined;
  #service: ControlPlaneClient | undefined;

  constructor(options: PluginOptions) {
    this.#options = options;
  }

  readonly why = async (name: string, options: CommonOptions): Promise<void> => {
    const accessName = /^(?:dba|databaseaccess|databaseaccesses)\/(.+)$/.exec(name)?.[1];
    const explanation = isPlaneName(name)
      ? explain(await this.#plane(name, options), planeNextSteps)
      : accessName === undefined
        ? explain(await this.#resource(name, options), nextSteps)
        : explain(await this.#access(accessName, options), accessNextSteps);
    this.#print(options, explanation, explanationText(explanation));
    this.exitCode = exitCodeOf(explanation);
  };

  readonly ops = async (name: string, options: CommonOptions): Promise<void> => {
    const resource = await this.#resource(name, options);
    this.#print(options, resource.status.operations ?? [], operationsText(resource));
  };

  readonly plan = async (name: string | undefined, options: CommonOptions & { filename?: string }): Promise<void> => {
    const step = await this.#step(await this.#planned(name, options));
    const { plan, ...rest } = step;
    this.#print(options, { ...plan, ...rest }, `${planText(step)}\n`);
    this.exitCode = exitCodeOfPlan(step.plan);
  };

  async #step(resource: ComputeEndpoint): Promise<CheckedStep> {
    const cluster = this.#openCluster();
    const named = namedBy(resource);
    const plane = named && { named, snapshot: await cluster.getPlane(named) };
    const problem = plane && problemOf(plane);
    const grantsOf = (resources: readonly ComputeEndpoint[]) => {
      const namespaces = resources.map(({ key }) => key.namespace);
      return readGrants(namespaces, cluster, parseGrantSettings(this.#options.env), plane);
    };
    if (problem !== undefined) {
      const nowhere = { identity: { clusterId: "", serviceUrl: "" }, controlPlane: undefined };
      const grants = await grantsOf([resource]);
      const step = await planNow({ resource, others: [], ...nowhere, clock: systemClock, problem, grants });
      return { ...step, isUrlAssumed: false };
    }
    const service = this.#openService();
    const isUrlAssumed = !this.#isUrlKnown(resource, service, plane);
    const clusterId = this.#options.env.CLUSTER_ID || (await cluster.clusterId());
    const identity = { clusterId, serviceUrl: service.serviceUrl };
    const others = (await cluster.list()).filter(({ uid }) => uid !== resource.uid);
    const grants = await grantsOf([resource, ...others]);
    const step = await planNow({ resource, others, identity, clock: systemClock, controlPlane: service, grants });
    return { ...step, isUrlAssumed };
  }

  /** Whether CONTROL_PLANE_URL could be compared with the resource's control plane. @throws Error when they differ */
  #isUrlKnown(resource: ComputeEndpoint, { serviceUrl }: ControlPlaneClient, plane: ReadPlane | undefined): boolean {
    const isCompared = plane === undefined || requireSameUrl(plane.snapshot, plane.named, serviceUrl);
    if (plane?.snapshot.kind !== "Found") requireRecordedUrl(resource, serviceUrl);
    return isCompared;
  }

  readonly adopt = async (options: ListingOptions & { project: string }): Promise<void> => {
    const cluster = this.#openCluster();
    const plane = await this.#listedPlane(options);
    const service = this.#openService();
    const { endpoints } = await service.listEndpoints(options.project);
    const unowned = unownedEndpoints(endpoints, await cluster.list(), service.serviceUrl);
    const namespace = options.namespace ?? cluster.namespace;
    const text = manifestsText(unowned.map((endpoint) => adoptionManifest(endpoint, namespace, plane?.ref)));
    this.#options.out.write(text);
  };

  readonly orphans = async (options: ListingOptions & { project?: string }): Promise<void> => {
    const resources = await this.#openCluster().list();
    const plane = await this.#listedPlane(options);
    const planeId = planeIdOf(plane?.ref, plane?.namespace ?? "");
    const there = resources.filter((resource) => planeOf(resource) === planeId);
    const named = new Set(there.flatMap((resource) => projectIdOf(resource) ?? []));
    const projects = options.project === undefined ? [...named].sort() : [options.project];
    const service = this.#openService();
    const lists = [];
    for (const project of projects) lists.push(...(await service.listEndpoints(project)).endpoints);
    const orphans = unownedEndpoints(lists, resources, service.serviceUrl);
    this.#print(options, orphans, endpointsText(orphans));
  };

  /** `undefined`: no option names one. @throws Error when it cannot be used, is unreadable, or has another URL */
  async #listedPlane({ controlPlane, namespace }: ListingOptions): Promise<NamedPlane | undefined> {
    if (controlPlane === undefined) return undefined;
    const cluster = this.#openCluster();
    const named = { ref: parsePlaneName(controlPlane), namespace: namespace ?? cluster.namespace };
    const snapshot = await cluster.getPlane(named);
    const problem = problemOf({ named, snapshot });
    if (problem !== undefined) throw new Error(problem.message);
    if (!requireSameUrl(snapshot, named, this.#openService().serviceUrl)) {
      throw new Error(`You may not read ${planeName(planeIdOf(named.ref, named.namespace))}, so its URL is not known.`);
    }
    return named;
  }

  readonly wake = (name: string, options: CommonOptions): Promise<void> => this.#change(name, options, "start");

  readonly suspend = (name: string, options: CommonOptions): Promise<void> => this.#change(name, options, "suspend");

  async close(): Promise<void> {
    await Promise.all([this.#cluster?.close(), this.#service?.close()]);
  }

  async #change(name: string, options: CommonOptions, action: PowerAction): Promise<void> {
    const resource = await this.#resource(name, options);
    // CONTROL_PLANE_URL and the key are for the control plane of the settings. Only the operator has the keys of other
    // control planes.
    if (!this.#options.env.CONTROL_PLANE_URL || planeOf(resource) !== settingsPlane) {
      await this.#askOperator(resource, options, action);
      return;
    }
    const { ownership } = resource.status;
    if (ownership === undefined) throw new Error(`${name} has no endpoint yet; see: kubectl endpoints why ${name}`);
    await this.#openService().changePower(ownership.projectId, ownership.endpointId, action);
    const { endpointId } = ownership;
    this.#print(
      options,
      { endpointId, action },
      `${endpointId}: ${action} requested; see: kubectl endpoints ops ${name}\n`,
    );
  }

  /** The plugin cannot send the request itself. The operator acts once for each new value of the annotation. */
  async #askOperator({ key }: ComputeEndpoint, options: CommonOptions, action: PowerAction): Promise<void> {
    const annotation = action === "start" ? annotations.wakeRequestedAt : annotations.suspendRequestedAt;
    const value = new Date().toISOString();
    await this.#openCluster().annotate(key, annotation, value);
    const text = `${key.name}: annotated with ${annotation}=${value}; the operator will do it\n`;
    this.#print(options, { annotation, value, action }, text);
  }

  async #resource(name: string, { namespace }: CommonOptions): Promise<ComputeEndpoint> {
    const cluster = this.#openCluster();
    return await cluster.get(namespace ?? cluster.namespace, name);
  }

  async #plane(name: string, { namespace }: CommonOptions): Promise<PlaneResource> {
    const cluster = this.#openCluster();
    const ref = parsePlaneName(name);
    const snapshot = await cluster.getPlane({ ref, namespace: namespace ?? cluster.namespace });
    if (snapshot.kind === "Found") return snapshot.plane;
    throw new Error(`${snapshot.kind === "Absent" ? "There is no" : "You may not read"} ${ref.kind} ${ref.name}.`);
  }

  async #access(name: string, { namespace }: CommonOptions): Promise<DatabaseAccess> {
    const cluster = this.#openCluster();
    return await cluster.getAccess(namespace ?? cluster.namespace, name);
  }

  /** Spec and annotations of the file replace the stored ones. If none is stored, all comes from the file. */
  async #planned(name: string | undefined, options: CommonOptions & { filename?: string }): Promise<ComputeEndpoint> {
    const { filename } = options;
    if (filename === undefined) {
      if (name === undefined) throw new Error("Name a resource, or a file with -f.");
      return await this.#resource(name, options);
    }
    const cluster = this.#openCluster();
    const manifest = manifestIn(await readFile(filename, "utf8"), name, options.namespace ?? cluster.namespace);
    const { namespace, name: own } = manifest.metadata;
    const stored = (await cluster.list()).some(({ key }) => key.namespace === namespace && key.name === own);
    return parseComputeEndpoint(stored ? appliedTo(await cluster.getStored(namespace, own), manifest) : manifest);
  }

  #openCluster(): ClusterAccess {
    this.#cluster ??= openCluster(this.#options.version);
    return this.#cluster;
  }

  #openService(): ControlPlaneClient {
    this.#service ??= openService(this.#options.env, this.#options.version);
    return this.#service;
  }

  #print({ output }: CommonOptions, value: unknown, text: string): void {
    if (output !== "json" && output !== "table") throw new Error(`-o ${output}: only table and json are supported.`);
    this.#options.out.write(output === "json" ? `${JSON.stringify(value, undefined, 2)}\n` : text);
  }
}

function exitCodeOfPlan({ kind }: Plan): number {
  if (kind === "Stall") return exitCodes.personMustAct;
  return kind === "Settled" ? exitCodes.ok : exitCodes.goesOn;
}
