/** Tests the watch of one Secret. */
import { describe, expect, onTestFinished, test } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import type { KubernetesCall } from "../../../src/kubernetes/http/connection.ts";
import { createSecretWatch } from "../../../src/kubernetes/secret-watch.ts";
import { FakeClock, settlePromises } from "../../support/fake-clock.ts";
import { ScriptedConnection } from "./scripted-connection.ts";

const address = { namespace: "ops", name: "control-plane-api-key", key: "api-key" };

function secretOf(text: string) {
  return {
    metadata: { name: address.name, uid: "u", resourceVersion: "1" },
    data: { "api-key": Buffer.from(text).toString("base64") },
  };
}

/** A connection whose watches the test feeds. */
class WatchedConnection extends ScriptedConnection {
  readonly watches: KubernetesCall[] = [];
  mayWatch = true;
  #end = Promise.withResolvers<string | undefined>();

  override async openStream(call?: KubernetesCall): Promise<AsyncIterable<Uint8Array>> {
    if (call !== undefined) this.watches.push(call);
    if (!this.mayWatch) throw new KubernetesError("Forbidden", "cannot watch: forbidden");
    return this.#lines();
  }

  /** One event. */
  async send(type: string, object: unknown): Promise<void> {
    this.#end.resolve(`${JSON.stringify({ type, object })}\n`);
    await settlePromises();
  }

  /** The server closes the watch. */
  override async close(): Promise<void> {
    this.#end.resolve(undefined);
    await settlePromises();
  }

  async *#lines(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const line = await this.#end.promise;
      this.#end = Promise.withResolvers();
      if (line === undefined) return;
      yield Buffer.from(line);
    }
  }
}

async function scene(respond: () => unknown, prepare: (connection: WatchedConnection) => void = () => {}) {
  const connection = new WatchedConnection();
  connection.respond = respond;
  prepare(connection);
  const clock = new FakeClock();
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => failures.push(error);
  const watch = createSecretWatch({ connection, address, clock, random: () => 0.5, onFailure });
  onTestFinished(() => watch.stop());
  watch.start();
  await watch.firstRead;
  await settlePromises();
  return { connection, clock, failures, watch };
}

const notFound = () => {
  throw new KubernetesError("NotFound", "not found");
};

describe("the watch of one Secret", () => {
  test("a change → the new value; the rights it needs are get and watch on this name alone", async () => {
    const { connection, failures, watch } = await scene(() => secretOf("one"));
    expect(watch.value()).toBe("one");
    await connection.send("MODIFIED", secretOf("two"));
    expect(watch.value()).toBe("two");
    expect(connection.calls.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /api/v1/namespaces/ops/secrets/control-plane-api-key",
    ]);
    expect(connection.watches).toMatchObject([
      {
        path: "/api/v1/namespaces/ops/secrets",
        query: { watch: "true", fieldSelector: "metadata.name=control-plane-api-key", resourceVersion: "" },
      },
    ]);
    expect(failures).toEqual([]);
  });

  test("deleted and created again → no value in between, then the new one", async () => {
    const { connection, watch } = await scene(() => secretOf("one"));
    await connection.send("DELETED", secretOf("one"));
    expect(watch.value()).toBeUndefined();
    await connection.send("ADDED", secretOf("two"));
    expect(watch.value()).toBe("two");
  });

  test("missing at the start → one report, and its value as soon as it is created", async () => {
    const { connection, failures, watch } = await scene(notFound);
    expect(watch.value()).toBeUndefined();
    expect(failures).toHaveLength(1);
    await connection.send("ADDED", secretOf("one"));
    expect(watch.value()).toBe("one");
  });

  test("the right to watch is missing → the value of each read, one report, a few requests a minute", async () => {
    const { connection, clock, failures, watch } = await scene(
      () => secretOf("one"),
      (each) => {
        each.mayWatch = false;
      },
    );
    for (let second = 0; second < 300; second += 1) await clock.advance(1_000);
    expect(watch.value()).toBe("one");
    expect(failures).toHaveLength(1);
    expect(connection.calls.length).toBeGreaterThan(8);
    expect(connection.calls.length).toBeLessThan(25);
  });

  test("the watch ends, or sends nothing for 70 s → the Secret is read again", async () => {
    const { connection, clock, watch } = await scene(() => secretOf("one"));
    expect(watch.value()).toBe("one");
    await connection.close();
    connection.respond = () => secretOf("two");
    await clock.advance(1_000);
    expect(watch.value()).toBe("two");
    connection.respond = () => secretOf("three");
    for (let second = 0; second < 75; second += 1) await clock.advance(1_000);
    expect(watch.value()).toBe("three");
  });

  test("an error of the server inside the watch → read again, no value is lost", async () => {
    const { connection, clock, watch } = await scene(() => secretOf("one"));
    await connection.send("ERROR", { kind: "Status", code: 410 });
    await clock.advance(1_000);
    expect(connection.watches).toHaveLength(2);
    expect(watch.value()).toBe("one");
  });
});
