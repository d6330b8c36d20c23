/** Tests the connection to a real API server. */
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createConnection, type KubernetesConnection } from "../../src/kubernetes/http/connection.ts";
import { type CredentialSource, loadCredentialSource } from "../../src/kubernetes/http/credentials.ts";
import { readClusterId } from "../../src/kubernetes/http/objects.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";
import { sharedApiServer } from "../support/api-server.ts";

const serviceAccountPath = "var/run/secrets/kubernetes.io/serviceaccount";

describe("the connection of a pod, on a real API server", () => {
  let root: string;
  let directory: string;
  const connections: KubernetesConnection[] = [];

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), "endpoint-operator-pod-"));
    directory = path.join(root, serviceAccountPath);
    await mkdir(directory, { recursive: true });
    await cp(sharedApiServer().caFile, path.join(directory, "ca.crt"));
    await writeFile(path.join(directory, "token"), sharedApiServer().token);
    await writeFile(path.join(directory, "namespace"), "own-namespace");
    const { hostname, port } = new URL(sharedApiServer().url);
    vi.stubEnv("KUBERNETES_SERVICE_HOST", hostname);
    vi.stubEnv("KUBERNETES_SERVICE_PORT", port);
  });

  afterEach(async () => {
    vi.unstubAllEnvs();
    await Promise.all(connections.splice(0).map((connection) => connection.close()));
    await rm(root, { recursive: true });
  });

  function loadPod(): CredentialSource {
    return loadCredentialSource(() => {
      const config = new KubeConfig();
      config.loadFromCluster(`${root}/`);
      return config;
    });
  }

  function connect(credentials: CredentialSource): KubernetesConnection {
    const connection = createConnection({ credentials, clock: systemClock, userAgent: "endpoint-operator-pod-test" });
    connections.push(connection);
    return connection;
  }

  it("token, CA and namespace of the service account → let in", async () => {
    const connection = connect(loadPod());
    expect(await readClusterId(connection)).toMatch(/^[0-9a-f-]{36}$/);
    expect(connection.namespace).toBe("own-namespace");
  });

  it("a token that is not valid → Unauthorized; a CA that does not fit → Unavailable, nothing is trusted", async () => {
    await writeFile(path.join(directory, "token"), "wrong-token");
    await expect(readClusterId(connect(loadPod()))).rejects.toMatchObject({ reason: "Unauthorized" });
    await writeFile(path.join(directory, "ca.crt"), "");
    await expect(readClusterId(connect(loadPod()))).rejects.toMatchObject({ reason: "Unavailable" });
  });
});
