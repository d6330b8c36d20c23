/** The cluster, read and written with the rights of the user, and the control plane of the environment. */
import { readFile } from "node:fs/promises";
import type { PlanSettings } from "../config.ts";
import { type ControlPlaneClient, createControlPlane } from "../control-plane/create-control-plane.ts";
import { KubernetesError, keyText, type ResourceKey } from "../domain/resource-store.ts";
import { createConnection, type KubernetesCall, type KubernetesConnection } from "../kubernetes/http/connection.ts";
import { loadCredentialSource, loaderOf } from "../kubernetes/http/credentials.ts";
import { mergePatch, objectPath, readClusterId } from "../kubernetes/http/objects.ts";
import { ApiKey, keyIn, keyInFile } from "../planes/api-key.ts";
import { systemClock } from "../runtime/system-clock.ts";
import { endpointKind, type ReadKind } from "./kinds.ts";

export interface ClusterOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

const timeoutMs = 10_000;

export class Cluster {
  readonly #connection: KubernetesConnection;
  readonly #lists = new Map<string, Promise<readonly unknown[]>>();

  /** @throws KubeconfigError */
  constructor({ kubeconfig, context }: ClusterOptions, userAgent: string) {
    const credentials = loadCredentialSource(loaderOf(kubeconfig, context));
    this.#connection = createConnection({ credentials, clock: systemClock, userAgent });
  }

  /** The namespace of the kubeconfig's context; `default` if there is none. */
  get namespace(): string {
    return this.#connection.namespace;
  }

  clusterId(): Promise<string> {
    return readClusterId(this.#connection);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async get<Resource>({ kind, plural, parse }: ReadKind<Resource>, key: ResourceKey): Promise<Resource> {
    const what = `read ${kind} ${key.namespace === "" ? key.name : keyText(key)}`;
    return parse(await this.#request({ what, method: "GET", path: objectPath(plural, key.namespace, key.name) }));
  }

  /** Each list is read once. @param namespace `undefined`: all namespaces */
  list<Resource>(kind: ReadKind<Resource>, namespace?: string, labelSelector = ""): Promise<readonly Resource[]> {
    const path = objectPath(kind.plural, namespace);
    const id = `${path} ${labelSelector}`;
    const list = this.#lists.get(id) ?? this.#listFrom(kind, path, { limit: "500", labelSelector });
    this.#lists.set(id, list);
    return list as Promise<readonly Resource[]>;
  }

  /** Returns the ComputeEndpoint as the API server would store it. It stores nothing. */
  tryWrite(key: ResourceKey, method: "POST" | "PUT", body: object): Promise<unknown> {
    const path = objectPath(endpointKind.plural, key.namespace, method === "PUT" ? key.name : undefined);
    const query = { dryRun: "All", fieldValidation: "Strict", fieldManager: "kubectl-endpoints" };
    return this.#request({ what: `apply ComputeEndpoint ${keyText(key)}`, method, path, query, body });
  }

  /** The plugin's only write. */
  async annotate(key: ResourceKey, annotation: string, value: string): Promise<void> {
    const patch = mergePatch({ metadata: { annotations: { [annotation]: value } } });
    const path = objectPath(endpointKind.plural, key.namespace, key.name);
    await this.#request({ what: `annotate ComputeEndpoint ${keyText(key)}`, path, ...patch });
  }

  async #listFrom<Resource>(
    kind: ReadKind<Resource>,
    path: string,
    query: Readonly<Record<string, string>>,
  ): Promise<readonly Resource[]> {
    const answer = await this.#request({ what: `list ${kind.plural}`, method: "GET", path, query });
    const { items, metadata } = answer as { items: readonly unknown[]; metadata: { continue?: string } };
    const page = items.map((item) => kind.parse(item));
    const next = metadata.continue;
    return next ? [...page, ...(await this.#listFrom(kind, path, { ...query, continue: next }))] : page;
  }

  #request(call: Omit<KubernetesCall, "timeoutMs">): Promise<unknown> {
    return this.#connection.request({ ...call, timeoutMs });
  }
}

/** Returns the result of a request. `Absent`: there is no such object. `Forbidden`: the user has no right to it. */
export async function orRefusal<Result>(request: Promise<Result>): Promise<Result | "Absent" | "Forbidden"> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    if (error.reason === "Forbidden") return "Forbidden";
    if (error.reason === "NotFound" || error.reason === "NotServed") return "Absent";
    throw error;
  }
}

export function openService(settings: PlanSettings, userAgent: string): ControlPlaneClient {
  const { controlPlaneUrl: baseUrl, apiKeyValue: key = "", apiKeyFile: file, httpsProxy, noProxy: except } = settings;
  const ignore = () => undefined;
  const read =
    file === undefined ? async () => keyIn(key, "CONTROL_PLANE_API_KEY") : keyInFile(() => readFile(file, "utf8"));
  const againMs = Number.POSITIVE_INFINITY;
  const keys = new ApiKey({ clock: systemClock, read, againMs, onChange: ignore, onKey: ignore });
  const observer = { requestEnded: ignore, throttled: ignore, locked: ignore };
  const proxy = httpsProxy === undefined ? undefined : { url: httpsProxy, except };
  return createControlPlane({ baseUrl, keys, clock: systemClock, observer, userAgent, proxy });
}
