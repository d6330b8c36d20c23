/** Tests that the migration sample reaches a real PostgreSQL with nothing but the Secret of a DatabaseAccess. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { startAccessWorld } from "../support/access-world.ts";
import "../support/patience.ts";
import { branches, project } from "../support/world.ts";

interface Job {
  readonly kind: string;
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
}

interface Container {
  readonly args: readonly string[];
  readonly env: readonly {
    readonly name: string;
    readonly valueFrom: { readonly secretKeyRef: { readonly key: string } };
  }[];
}

test.each(["deploy/samples/migrate-orders.yaml", "deploy/samples/previews/migrate.yaml"])(
  "%s → its command connects as the role of the Secret",
  async (file) => {
    const access = await startAccessWorld({
      sandbox: { profile: "public", compute: { port: 0 }, operationLatencyMs: 0 },
    });
    await access.world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
    await access.apply("orders-app", { secret: { name: "orders-db" } });
    await access.untilReady("orders-app");
    const { data = {} } = (await access.secret("orders-db")) ?? {};
    const text = await readFile(new URL(`../../${file}`, import.meta.url), "utf8");
    const job = parseAllDocuments(text)
      .map((document) => document.toJS() as Job)
      .find(({ kind }) => kind === "Job");
    const [container] = job?.spec.template.spec.containers ?? [];
    const env = (container?.env ?? []).map(({ name, valueFrom }) => [name, data[valueFrom.secretKeyRef.key]]);
    const [command = "", ...args] = container?.args ?? [];
    // The host names of the sandbox resolve nowhere, and its servers have a port of their own.
    const query = new URLSearchParams({ branch_id: branches.orders, database_name: "orders", role_name: "orders_app" });
    const path = `/projects/${project}/connection_uri?${query}`;
    const { uri } = await access.world.sandbox.api<{ uri: string }>("GET", path);
    const here = { PATH: process.env.PATH, PGHOSTADDR: "127.0.0.1", PGPORT: new URL(uri).port };
    const { stdout } = await promisify(execFile)(command, args, { env: { ...Object.fromEntries(env), ...here } });
    expect(stdout).toContain("orders_app");
  },
);
