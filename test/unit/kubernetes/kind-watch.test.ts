/** Tests how the watch of a kind takes events. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { KubernetesCall } from "../../../src/kubernetes/http/connection.ts";
import { KindWatch } from "../../../src/kubernetes/kind-watch.ts";
import { computeEndpointKind } from "../../../src/kubernetes/store/resource-kinds.ts";
import type { ComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../../../src/resource/status-schema.ts";
import { FakeClock, settlePromises } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { ScriptedConnection } from "./scripted-connection.ts";

const key = { namespace: "shop", name: "orders" };

function stored(resourceVersion: string, metadata: object = {}) {
  const spec = { projectId: "p1", branchId: "b1", type: "ReadWrite" };
  return { metadata: { ...key, uid: "u1", generation: 1, resourceVersion, ...metadata }, spec };
}

/** An object that cannot be parsed. So each attempt to parse it writes a log line. */
const damaged = (resourceVersion: string) => stored(resourceVersion, { generation: "one" });

/** An API server that the test controls: a list, a watch, and the answer to a write. */
class WatchedConnection extends ScriptedConnection {
  list: { readonly resourceVersion: string; readonly items: readonly unknown[] } = {
    resourceVersion: "20",
    items: [stored("10")],
  };
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined;

  override respond = ({ method }: { readonly method: string }): unknown =>
    method === "PATCH"
      ? { ...stored("21"), status: { state: "active" } }
      : { metadata: { resourceVersion: this.list.resourceVersion }, items: this.list.items };

  override async openStream({ signal }: KubernetesCall): Promise<AsyncIterable<Uint8Array>> {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    this.#writer = writer;
    signal?.addEventListener("abort", () => void writer.abort());
    return readable;
  }

  /** Sends an event of the watch. When the promise settles, the event was processed. */
  async send(type: string, object: unknown): Promise<void> {
    // This is not awaited: if the event ends the watch, nothing reads the written bytes.
    void this.#writer?.write(Buffer.from(`${JSON.stringify({ type, object })}\n`)).catch(() => {});
    await settlePromises();
  }
}

let clock: FakeClock;
let connection: WatchedConnection;
let watch: KindWatch<ComputeEndpoint, ComputeEndpointStatus>;
const errors: unknown[] = [];

beforeEach(async () => {
  clock = new FakeClock();
  connection = new WatchedConnection();
  errors.length = 0;
  watch = new KindWatch(computeEndpointKind, {
    ...{ connection, clock, namespaces: [], fence: { mayStartEffect: () => true }, random: () => 0 },
    onChange() {},
    logger: { ...quietLogger, error: (fields) => void errors.push(fields) },
  });
  watch.start();
  await settlePromises();
  expect(watch.stats().isWatching).toBe(true);
  expect(watch.store.list()).toHaveLength(1);
});

afterEach(() => watch.stop());

const current = () => watch.store.get(key) ?? expect.unreachable();

describe("an event of a watch", () => {
  it("the echo of a write of ours → is not read again", async () => {
    const written = await watch.store.patchStatus(current(), { state: "active" });
    await connection.send("MODIFIED", damaged("21"));
    expect([errors, current() === written]).toEqual([[], true]);
  });

  it("an older version than that of the write's answer → is not parsed, and the cache stays as it is", async () => {
    const written = await watch.store.patchStatus(current(), { state: "active" });
    await connection.send("MODIFIED", damaged("20"));
    expect([errors, current() === written]).toEqual([[], true]);
  });

  it("a deletion → is parsed, also with an older version", async () => {
    await watch.store.patchStatus(current(), { state: "active" });
    await connection.send("DELETED", stored("20"));
    expect(watch.store.get(key)).toBeUndefined();
  });

  it("a version that the write's answer did not have → is read", async () => {
    await watch.store.patchStatus(current(), { state: "active" });
    await connection.send("MODIFIED", damaged("22"));
    expect(errors).toHaveLength(1);
  });
});
