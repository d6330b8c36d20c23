/** Tests that spans reach a receiver, and what happens if it fails. */
import { describe, expect, test } from "vitest";
import type { LogFields, Logger } from "../../../src/domain/logger.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import { startTracing } from "../../../src/tracing/start-tracing.ts";
import { OtlpReceiver } from "../../support/otlp-receiver.ts";
import { waitUntil } from "../../support/wait-until.ts";

const call = "GET /projects/{project_id}";

function tracingTo(endpoint: string) {
  const lines: string[] = [];
  const write = (level: string) => (fields: LogFields, message: string) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const logger: Logger = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  return {
    tracing: startTracing({ endpoint, clock: systemClock, logger, version: "7.8.9", instance: "pod-1" }),
    lines,
  };
}

const nothing = () => Promise.resolve();

describe("startTracing", () => {
  test("a span within a span → both arrive, one within the other, with their attributes and the name of the service", async () => {
    const receiver = await OtlpReceiver.start();
    const { tracing, lines } = tracingTo(receiver.endpoint);
    const before = BigInt(Date.now()) * 1_000_000n;
    await tracing.tracer.inSpan("reconcile", { "resource.name": "orders", "resource.uid": undefined }, () =>
      tracing.tracer.inSpan(call, { tries: 2 }, async () => {
        tracing.tracer.annotate({ "operation.ids": ["op-1", "op-2"] });
        tracing.tracer.annotate({ "error.type": "Locked" });
      }),
    );
    await tracing.shutDown();
    const reconcile = await receiver.untilSpan("the reconcile", ({ name }) => name === "reconcile");
    expect(reconcile).toMatchObject({ parentSpanId: undefined, isFailed: false });
    expect(reconcile.attributes).toEqual({ "resource.name": "orders" });
    expect(reconcile.startNanos).toBeGreaterThanOrEqual(before - 1_000_000n);
    expect(reconcile.endNanos).toBeGreaterThanOrEqual(reconcile.startNanos);
    expect(reconcile.resource).toMatchObject({
      "service.name": "endpoint-operator",
      "service.version": "7.8.9",
      "service.instance.id": "pod-1",
    });
    expect(receiver.childrenOf(reconcile)).toMatchObject([
      {
        name: call,
        isFailed: true,
        attributes: { tries: 2, "operation.ids": ["op-1", "op-2"], "error.type": "Locked" },
      },
    ]);
    expect(lines).toEqual([]);
  });

  test("a receiver that refuses with a text that holds a secret → one line with the status, and not the text", async () => {
    const receiver = await OtlpReceiver.start();
    receiver.mood = "Refuses";
    receiver.refusal = "no such key: made-up-key";
    const { tracing, lines } = tracingTo(receiver.endpoint);
    for (let times = 0; times < 1_100; times += 1) await tracing.tracer.inSpan(call, {}, nothing);
    await tracing.shutDown();
    expect(receiver.headers.length).toBeGreaterThan(1);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^warn traces are lost.*"why":400}$/);
  });

  test("more spans than may wait, and a receiver that hangs → the work goes on, and the newest are dropped", async () => {
    const receiver = await OtlpReceiver.start();
    receiver.mood = "Hangs";
    const { tracing } = tracingTo(receiver.endpoint);
    const reconcile = (number: number) => tracing.tracer.inSpan("reconcile", { number }, async () => number);
    for (let number = 0; number < 512; number += 1) await reconcile(number);
    await waitUntil(() => receiver.headers.length === 1 || undefined, { what: "the first batch hangs" });
    for (let number = 512; number < 5_000; number += 1) expect(await reconcile(number)).toBe(number);
    receiver.mood = "Takes";
    void tracing.shutDown();
    await receiver.untilSpan("the last that had room", ({ attributes }) => attributes.number === 512 + 2_048 - 1);
    await waitUntil(() => receiver.spans().length >= 2_048 || undefined, { what: "all that waited arrive" });
    expect(Math.max(...receiver.spans().map(({ attributes }) => Number(attributes.number)))).toBe(512 + 2_048 - 1);
  });
});
