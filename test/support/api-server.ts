/** Access to the shared API server: namespaces, service accounts, audit log. */
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile } from "node:fs/promises";
import path from "node:path";
import { inject } from "vitest";
import { writeKubeconfig } from "../../tools/api-server/kubeconfig.ts";
import type { SharedApiServer } from "./api-server-setup.ts";
import { createKubectl, type Kubectl } from "./kubectl.ts";
import { secret } from "./secrets.ts";

/** The API server that all files of this tier share. */
export function sharedApiServer(): SharedApiServer {
  return inject("sharedApiServer");
}

/** kubectl as administrator of the shared API server. */
export function adminKubectl(): Kubectl {
  const { assets, kubeconfigFile } = sharedApiServer();
  return createKubectl({ binary: assets.kubectl, kubeconfigFile });
}

/** Creates a namespace that no other test uses, and answers its name. */
export async function createTestNamespace(prefix: string): Promise<string> {
  const name = `${prefix}-${randomBytes(4).toString("hex")}`;
  await adminKubectl().run(["create", "namespace", name]);
  return name;
}

/** A service account and how to be it. */
export interface ServiceAccountAccess {
  /** A bound token of the API server's TokenRequest. */
  readonly token: string;
  /** Kubeconfig of the service account alone; it goes with the API server. */
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

/** One line of the audit log, as far as tests read it. */
export interface AuditEvent {
  /** Lower case: create, update, patch, delete, get, list, watch, … */
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
  /** RFC 3339, microseconds. */
  readonly requestReceivedTimestamp: string;
}

const writeVerbs = new Set(["create", "update", "patch", "delete", "deletecollection"]);

/** Whether the request asked for a change. */
export function isWrite(event: AuditEvent): boolean {
  return writeVerbs.has(event.verb);
}

/**
 * Reads the audit log of the shared API server: every request that was answered before this call, oldest first.
 *
 * @param isWanted which of them; called once for each.
 */
export async function readAuditEvents(isWanted: (event: AuditEvent) => boolean): Promise<readonly AuditEvent[]> {
  const lines = (await readFile(sharedApiServer().auditLogFile, "utf8")).split("\n");
  // The last piece is empty, or a line that is being written.
  return lines
    .slice(0, -1)
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter(isWanted);
}
