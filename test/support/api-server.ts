/** Access to the shared API server: namespaces, service accounts, audit log. */
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, readFile } from "node:fs/promises";
import path from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { inject } from "vitest";
import { writeKubeconfig } from "../../tools/api-server/kubeconfig.ts";
import type { SharedApiServer } from "./api-server-setup.ts";
import { createKubectl, type Kubectl } from "./kubectl.ts";
import { secret } from "./secrets.ts";
import { waitUntil } from "./wait-until.ts";

/** Returns the API server that all files of this tier share. */
export function sharedApiServer(): SharedApiServer {
  return inject("sharedApiServer");
}

/** Returns kubectl as administrator of the shared API server. */
export function adminKubectl(): Kubectl {
  const { assets, kubeconfigFile } = sharedApiServer();
  return createKubectl({ binary: assets.kubectl, kubeconfigFile });
}

/** Creates a namespace that no other test uses, and returns its name. */
export async function createTestNamespace(prefix: string): Promise<string> {
  const name = `${prefix}-${randomBytes(4).toString("hex")}`;
  await adminKubectl().run(["create", "namespace", name]);
  return name;
}

/** The service account that deploy/base ships. */
export const shippedAccount = { namespace: "endpoint-operator-system", name: "endpoint-operator" } as const;

/** A service account and its credentials. */
export interface ServiceAccountAccess {
  /** A bound token that the API server's TokenRequest made. */
  readonly token: string;
  /** The kubeconfig of this service account only. It is removed with the API server. */
  readonly kubeconfigFile: string;
}

/** Asks for a token of a service account that exists, and writes a kubeconfig with it. */
export async function serviceAccountAccess(namespace: string, name: string): Promise<ServiceAccountAccess> {
  const { url, caFile, kubeconfigFile: adminFile } = sharedApiServer();
  const token = (await adminKubectl().run(["create", "token", name, "--namespace", namespace, "--duration=2h"])).trim();
  secret(token);
  const directory = await mkdtemp(path.join(path.dirname(adminFile), "service-account-"));
  const kubeconfigFile = path.join(directory, "kubeconfig.yaml");
  await writeKubeconfig(kubeconfigFile, { server: url, caFile, token, namespace });
  return { token, kubeconfigFile };
}

/** The parts of an audit log line that tests read. */
export interface AuditEvent {
  /** In lower case: create, update, patch, delete, get, list, watch, … */
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly apiGroup?: string;
  };
  readonly responseStatus?: { readonly code: number };
  /** The time of the request: RFC 3339 with microseconds. */
  readonly requestReceivedTimestamp: string;
}

const writeVerbs = new Set(["create", "update", "patch", "delete", "deletecollection"]);

/** Whether the request is a write. */
export function isWrite(event: AuditEvent): boolean {
  return writeVerbs.has(event.verb);
}

/**
 * Returns the entries of the shared API server's audit log: every request that was answered before this call, oldest
 * first.
 * @param isWanted selects entries; called once for each
 */
export async function readAuditEvents(isWanted: (event: AuditEvent) => boolean): Promise<readonly AuditEvent[]> {
  // The API server may write the line of a request some time after its answer. So this sends a marker: its line comes
  // after the lines of all earlier requests.
  const marker = `marker-${randomUUID()}`;
  await adminKubectl().tryRun(["--namespace", "default", "get", "cpe", marker]);
  const events = await waitUntil(
    async () => {
      const all = await auditEvents();
      return all.some(({ objectRef }) => objectRef?.name === marker) ? all : undefined;
    },
    { what: "the audit log has caught up" },
  );
  return events.filter(isWanted);
}

/** Returns the writes of the shipped service account in a namespace, including events, oldest first. */
export function operatorWritesIn(namespace: string): Promise<readonly AuditEvent[]> {
  const username = `system:serviceaccount:${shippedAccount.namespace}:${shippedAccount.name}`;
  return readAuditEvents(
    (event) => isWrite(event) && event.objectRef?.namespace === namespace && event.user.username === username,
  );
}

async function auditEvents(): Promise<readonly AuditEvent[]> {
  const lines = (await readFile(sharedApiServer().auditLogFile, "utf8")).split("\n");
  // The last piece is empty, or an incomplete line.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as AuditEvent);
}

export function kubeConfigOf(file: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(file);
  return config;
}
