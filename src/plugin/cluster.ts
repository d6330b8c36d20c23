/** The cluster, read and written with the rights of the user, and the control plane of the environment. */
import { readFile } from "node:fs/promises";
import { type Environment, parseConfig } from "../config.ts";
import { withOneKey } from "../control-plane/around-calls.ts";
import { createHttpClient } from "../control-plane/http-call.ts";
import { controlPlaneOf } from "../control-plane/typed-calls.ts";
import { KubernetesError, keyText, type ResourceKey } from "../domain/resource-store.ts";
import { createConnection, type KubernetesCall, type KubernetesConnection } from "../kubernetes/http/connection.ts";
import { loadCredentialSource, loaderOf } from "../kubernetes/http/credentials.ts";
import { mergePatch, objectPath, readClusterId } from "../kubernetes/http/objects.ts";
import { computeEndpointKind } from "../kubernetes/store/resource-kinds.ts";
import { ApiKey, keyIn, keyInFile } from "../planes/api-key.ts";
import { clusterControlPlaneNames } from "../resource/names.ts";
import { systemClock } from "../runtime/system-clock.ts";

const timeoutMs = 10_000;

/** A kind that a command reads, and its names, as `kubectl get` takes and prints them. */
export interface ReadKind<Resource> {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly parse: (stored: unknown) => Resource;
}

/** Parses `NAME` or `KIND/NAME`. @param kinds a name alone is of the first kind. @throws Error for another kind */
export function parseName<Resource>(text: string, namespace: string, kinds: readonly ReadKind<Resource>[]) {
  const [, word, name = ""] = /^(?:([a-z]+)(?:\.[^/]*)?\/)?([^/]+)$/i.exec(text) ?? [];
  const isMeant = (each: ReadKind<Resource>) =>
    word === undefined || [each.plural, each.kind.toLowerCase(), each.shortName].includes(word.toLowerCase());
  const kind = kinds.find(isMeant);
  if (name === "" || kind === undefined) {
    const forms = kinds.map((each) => `${each.shortName}/NAME`).join(", ");
    throw new Error(`${text} is no name that this command knows: write NAME, ${forms}.`);
  }
  return { kind, key: { namespace: kind.kind === clusterControlPlaneNames.kind ? "" : namespace, name } };
}

export class Cluster {
  /** The namespace of the kubeconfig's context; `default` if there is none. */
  readonly namespace: string;
  readonly #connection: KubernetesConnection;
  readonly #lists = new Map<string, Promise<readonly unknown[]>>();

  /** @throws KubeconfigError */
  constructor(kubeconfig: string | undefined, context: string | undefined, userAgent: string) {
    const credentials = loadCredentialSource(loaderOf(kubeconfig, context));
    this.namespace = credentials.namespace;
    this.#connection = createConnection({ credentials, clock: systemClock, userAgent });
  }

  readonly clusterId = () => readClusterId(this.#connection);

  async get<Resource>({ kind, plural, parse }: ReadKind<Resource>, key: ResourceKey): Promise<Resource> {
    const what = `read ${kind} ${key.namespace === "" ? key.name : keyText(key)}`;
    const path = objectPath(plural, key.namespace, key.name);
    return parse(await this.#connection.request({ what, method: "GET", path, timeoutMs }));
  }

  /** Each list is read once. @param namespace `undefined`: all namespaces */
  list<Resource>(
    { plural, parse }: ReadKind<Resource>,
    namespace?: string,
    labelSelector = "",
  ): Promise<readonly Resource[]> {
    const call = { what: `list ${plural}`, method: "GET", path: objectPath(plural, namespace), timeoutMs } as const;
    const id = `${call.path} ${labelSelector}`;
    const list = this.#lists.get(id) ?? this.#pages(call, { limit: "500", labelSelector }, parse);
    this.#lists.set(id, list);
    return list as Promise<readonly Resource[]>;
  }

  /** Returns the ComputeEndpoint as the API server would store it. It stores nothing. */
  tryWrite(key: ResourceKey, method: "POST" | "PUT", body: object): Promise<unknown> {
    const path = objectPath(computeEndpointKind.plural, key.namespace, method === "PUT" ? key.name : undefined);
    const query = { dryRun: "All", fieldValidation: "Strict", fieldManager: "kubectl-endpoints" };
    const what = `apply ComputeEndpoint ${keyText(key)}`;
    return this.#connection.request({ what, method, path, query, body, timeoutMs });
  }

  /** The plugin's only write. */
  async annotate(key: ResourceKey, annotations: Readonly<Record<string, string | null>>): Promise<void> {
    const patch = mergePatch({ metadata: { annotations } });
    const path = objectPath(computeEndpointKind.plural, key.namespace, key.name);
    await this.#connection.request({ what: `annotate ComputeEndpoint ${keyText(key)}`, path, ...patch, timeoutMs });
  }

  async #pages(call: KubernetesCall, query: object, parse: (stored: unknown) => unknown): Promise<readonly unknown[]> {
    const answer = await this.#connection.request({ ...call, query: { ...query } });
    const { items, metadata } = answer as { items: readonly unknown[]; metadata: { continue?: string } };
    const page = items.map((item) => parse(item));
    const next = metadata.continue;
    return next ? [...page, ...(await this.#pages(call, { ...query, continue: next }, parse))] : page;
  }
}

/** Returns the result of a request. `Absent`: there is no such object. `Forbidden`: the user has no right to it. */
export async function orRefusal<Result>(request: Promise<Result>): Promise<Result | "Absent" | "Forbidden"> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof KubernetesError && error.reason === "Forbidden") return "Forbidden";
    if (error instanceof KubernetesError && error.reason === "NotFound") return "Absent";
    throw error;
  }
}

/** The settings of the operator that a plan depends on. Other variables may have another meaning for the user. */
const own =
  /^(?:CONTROL_PLANE_(?:URL|API_KEY|API_KEY_FILE)|HTTPS_PROXY|NO_PROXY|CLUSTER_ID|WATCH_NAMESPACES|PROJECT_GRANTS|.*_SECONDS)$/;

/** @throws ConfigError when a setting is missing or wrong */
export function openService(env: Environment, userAgent: string) {
  const settings = parseConfig(Object.fromEntries(Object.entries(env).filter(([name]) => own.test(name))));
  const { controlPlaneUrl: baseUrl, apiKey } = settings;
  const ignore = () => undefined;
  const read =
    apiKey.kind === "File"
      ? keyInFile(() => readFile(apiKey.path, "utf8"))
      : async () => keyIn(apiKey.value, "CONTROL_PLANE_API_KEY");
  const keys = new ApiKey({ clock: systemClock, read, againMs: Infinity, onChange: ignore, onKey: ignore });
  const observer = { requestEnded: ignore, throttled: ignore, locked: ignore };
  const client = createHttpClient({ baseUrl, clock: systemClock, observer, userAgent, proxy: settings });
  const { call } = withOneKey(client.call, keys);
  return { settings, controlPlane: controlPlaneOf({ serviceUrl: client.serviceUrl, call }) };
}
