/** Tests that a library for service bindings can read the Secret. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { bindingOf, type Connection } from "../../../../src/kinds/access/access-secret.ts";

/** The library of another project. It has no usable types. */
const { getBinding } = createRequire(import.meta.url)("kube-service-bindings") as {
  getBinding(type: string, client?: string, options?: object): Readonly<Record<string, unknown>>;
};

const connection: Connection = {
  endpoint: { hosts: { host: "ep-one.eu.example", pooledHost: "ep-one-pooler.eu.example", readHosts: [] } },
  settings: { port: 6432, sslMode: "verify-full", certificateAuthority: "-----BEGIN CERTIFICATE-----\nMIIB" },
  spec: { endpointRef: { name: "orders" }, database: { name: "orders" }, role: { name: "orders_app" } },
};

let root: string;

/** Writes the Secret as the kubelet mounts it: one file for each key. */
async function mount(given: Connection): Promise<void> {
  const folder = path.join(root, "orders-db");
  await mkdir(folder);
  const files = Object.entries(bindingOf(given, "pa:ss/wo rd@1"));
  await Promise.all(files.map(([key, text]) => writeFile(path.join(folder, key), text)));
}

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), "bindings-"));
  vi.stubEnv("SERVICE_BINDING_ROOT", root);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(root, { recursive: true, force: true });
});

describe("kube-service-bindings, which reads SERVICE_BINDING_ROOT", () => {
  test("the mounted Secret → the options of the driver pg, certificate authority included", async () => {
    await mount(connection);
    expect(getBinding("POSTGRESQL", "pg")).toMatchObject({
      host: "ep-one.eu.example",
      port: "6432",
      user: "orders_app",
      password: "pa:ss/wo rd@1",
      database: "orders",
      ssl: { ca: "-----BEGIN CERTIFICATE-----\nMIIB" },
    });
  });

  test("no certificate authority, one replica → the binding is found by its type, and says where to read", async () => {
    const { endpoint, settings } = connection;
    await mount({
      ...connection,
      endpoint: { hosts: { ...endpoint.hosts, readHosts: ["ep-two.eu.example"] } },
      settings: { ...settings, sslMode: "require", certificateAuthority: undefined },
    });
    const binding = getBinding("POSTGRESQL", "pg");
    expect(binding).toMatchObject({ sslmode: "require", provider: "endpoint-operator" });
    expect(Object.values(binding)).toContain("ep-two.eu.example");
    expect(binding).not.toHaveProperty("ssl");
  });
});
