// An application that uses only its mounted Secret: `SERVICE_BINDING_ROOT=DIR node tools/demo/application.ts`.
// Each line of its standard input is a key of the Secret with a host name, and a statement: `host SELECT 1`,
// `pooled-host …`, `read-host …`.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import pg from "pg";

/** The binding as options of the driver pg, with the other keys of the Secret. */
interface Binding extends pg.ClientConfig {
  readonly ssl: { readonly ca: string };
  readonly [key: `${string}-host`]: string;
}

type HostKey = "host" | "pooled-host" | "read-host";

const { getBinding } = createRequire(import.meta.url)("kube-service-bindings") as {
  getBinding(type: string, client: string): Binding;
};

/** The codes of a refused password: the first of PostgreSQL, the second of PgBouncer. */
const passwordRefused: ReadonlySet<unknown> = new Set(["28P01", "08P01"]);

const readBinding = () => getBinding("POSTGRESQL", "pg");
let binding = readBinding();

async function rowsOf(hostKey: HostKey, statement: string, isSecondTry = false): Promise<readonly object[]> {
  const name = binding[hostKey] ?? "";
  // Every name below localhost is this machine (RFC 6761), but some resolvers do not know that.
  const host = name.endsWith(".localhost") ? "127.0.0.1" : name;
  const client = new pg.Client({ ...binding, host, ssl: { ...binding.ssl, servername: name } });
  try {
    await client.connect();
    return (await client.query(statement)).rows;
  } catch (error) {
    if (isSecondTry || !passwordRefused.has((error as { readonly code?: unknown }).code)) throw error;
    console.log("the password is refused: the application reads its Secret again");
    binding = readBinding();
    return await rowsOf(hostKey, statement, true);
  } finally {
    await client.end();
  }
}

async function answer(hostKey: HostKey, statement: string): Promise<void> {
  const startedMs = performance.now();
  try {
    for (const row of await rowsOf(hostKey, statement)) console.log(Object.values(row).join(" | "));
  } catch (error) {
    console.log(`error: ${(error as Error).message}`);
  }
  console.log(`(${((performance.now() - startedMs) / 1000).toFixed(2)} s from connecting to the answer)`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const [hostKey, ...words] = line.split(" ");
  await answer(hostKey as HostKey, words.join(" "));
}
