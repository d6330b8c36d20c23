/** Starts a real Kubernetes API server on this machine, for demo, tests and benchmarks. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { AssetPaths } from "../assets/resolve-assets.ts";
import { type Component, onFreePorts, startComponent, waitForComponent } from "../process/component.ts";
import { isAnswering } from "../process/wait-until.ts";
import { metadataAuditPolicy } from "./audit-policy.ts";
import {
  type ApiServerFiles,
  type ApiServerPorts,
  apiServerFiles,
  type ComponentName,
  etcdArgs,
  kubeApiServerArgs,
  kubeControllerManagerArgs,
} from "./component-args.ts";
import { ensureCredentials } from "./credentials.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { isApiServerReady } from "./readiness.ts";

/** The options of an API server. */
export interface ApiServerOptions {
  /** The binaries, from `resolveAssets`. kube-controller-manager is also started if its path is given. */
  readonly assets: AssetPaths<"etcd" | "kube-apiserver"> & Partial<AssetPaths<"kube-controller-manager">>;
  /**
   * The directory of the data. It stays when the server stops, and another start can use it again. @default a temporary
   * one, removed at the stop
   */
  readonly dataDirectory?: string;
  /** The audit policy as YAML. @default metadata of every request that is not kube-apiserver's own */
  readonly auditPolicy?: string;
  /** Further arguments for kube-apiserver, each `--name=value`. @default none */
  readonly apiServerArgs?: readonly string[];
  /** The ports of the first attempt, for tests in which they are taken. @default free ones */
  readonly ports?: ApiServerPorts;
}

/**
 * A real kube-apiserver with its etcd on loopback, with RBAC.
 * Its processes end when this process ends in any way. Only after SIGKILL of this process, the data directory stays in
 * the system's temporary directory.
 */
export interface ApiServer {
  readonly url: string;
  /** The address of etcd for clients. It has no TLS, and every user of this machine can use it. */
  readonly etcdUrl: string;
  /** The kubeconfig of a member of `system:masters`. */
  readonly kubeconfigFile: string;
  /** The PEM file that verifies the server's certificate for 127.0.0.1. */
  readonly caFile: string;
  /** The administrator's bearer token. It is made for this data directory. */
  readonly token: string;
  /**
   * The audit log: JSON lines of audit.k8s.io/v1 Events. The API server writes an entry before it answers the request.
   */
  readonly auditLogFile: string;
  readonly dataDirectory: string;
  readonly processIds: Readonly<Partial<Record<ComponentName, number>>>;
  /** Stops everything, and starts it again with the same data, ports, certificates and tokens. */
  restart(): Promise<void>;
  /** Ends every process and waits until they have ended. A second call does nothing. */
  stop(): Promise<void>;
}

/** The time limit for a whole start or restart. */
const readyTimeoutMs = 90_000;

/**
 * Starts an API server and waits until it can be used.
 *
 * @throws ComponentError with the end of the log of the process that failed.
 */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const dataDirectory = options.dataDirectory ?? (await mkdtemp(path.join(tmpdir(), "endpoint-operator-api-")));
  const files = apiServerFiles(dataDirectory);
  const removeTemporary = async () => {
    if (options.dataDirectory === undefined) await rm(dataDirectory, { recursive: true, force: true });
  };
  try {
    const token = await prepareData(files, options.auditPolicy ?? metadataAuditPolicy);
    const launch = async ([etcdClient = 0, etcdPeer = 0, apiServer = 0]: readonly number[]) => {
      const ports = { etcdClient, etcdPeer, apiServer };
      return { ports, components: await startComponents({ options, files, token, ports }) };
    };
    const given = options.ports && [options.ports.etcdClient, options.ports.etcdPeer, options.ports.apiServer];
    const { ports, components } = await onFreePorts(3, launch, given);
    let running = components;
    return {
      url: serverUrl(ports),
      etcdUrl: `http://127.0.0.1:${ports.etcdClient}`,
      kubeconfigFile: files.kubeconfig,
      caFile: files.caFile,
      token,
      auditLogFile: files.auditLog,
      dataDirectory,
      get processIds() {
        return Object.fromEntries(running.map(({ name, process }) => [name, process.pid]));
      },
      async restart() {
        await stopComponents(running);
        running = [];
        running = await startComponents({ options, files, token, ports });
      },
      async stop() {
        await stopComponents(running);
        await removeTemporary();
      },
    };
  } catch (error) {
    await removeTemporary();
    throw error;
  }
}

async function prepareData(files: ApiServerFiles, auditPolicy: string): Promise<string> {
  await mkdir(files.certificates, { recursive: true });
  await mkdir(files.etcdData, { recursive: true, mode: 0o700 });
  await writeFile(files.auditPolicy, auditPolicy);
  return await ensureCredentials(files);
}

interface StartInput {
  readonly options: ApiServerOptions;
  readonly files: ApiServerFiles;
  readonly token: string;
  readonly ports: ApiServerPorts;
}

/** Returns the processes in the order of their start. */
async function startComponents({ options, files, token, ports }: StartInput): Promise<readonly Component[]> {
  const { assets } = options;
  const deadlineMs = performance.now() + readyTimeoutMs;
  const url = serverUrl(ports);
  const components: Component[] = [];
  const start = async (name: ComponentName, command: string, args: readonly string[]) => {
    const component = await startComponent({ name, command, args, logFile: files.logs[name], graceMs: 5_000 });
    components.push(component);
    return component;
  };
  try {
    const etcd = await start("etcd", assets.etcd, etcdArgs(files, ports));
    // etcd answers 200 if it has a leader and can read.
    await waitForComponent(etcd, deadlineMs, () => isAnswering(`http://127.0.0.1:${ports.etcdClient}/health`));
    await writeKubeconfig(files.kubeconfig, { server: url, caFile: files.caFile, token });
    const apiServerArgs = [...kubeApiServerArgs(files, ports), ...(options.apiServerArgs ?? [])];
    const apiServer = await start("kube-apiserver", assets["kube-apiserver"], apiServerArgs);
    await waitForComponent(apiServer, deadlineMs, () => isApiServerReady({ url, caFile: files.caFile, token }));
    const controllerManager = assets["kube-controller-manager"];
    if (controllerManager !== undefined) {
      await start("kube-controller-manager", controllerManager, kubeControllerManagerArgs(files));
    }
    return components;
  } catch (error) {
    await stopComponents(components);
    throw error;
  }
}

/** Ends clients first, because an API server that still has its etcd ends quickly. */
async function stopComponents(components: readonly Component[]): Promise<void> {
  for (const component of components.toReversed()) await component.process.stop();
}

function serverUrl(ports: ApiServerPorts): string {
  return `https://127.0.0.1:${ports.apiServer}`;
}
