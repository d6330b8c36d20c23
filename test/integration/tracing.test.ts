/** Tests the spans of a reconcile. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { OtlpReceiver } from "../support/otlp-receiver.ts";
import type { ReceivedSpan } from "../support/otlp-schema.ts";
import { branches, project, startWorld } from "../support/world.ts";

const orders = { branchId: branches.orders, type: "ReadWrite" } as const;
const create = "POST /projects/{project_id}/endpoints";

const reconcileOf = (name: string, plan: string) => (span: ReceivedSpan) =>
  span.name === "reconcile" && span.attributes["resource.name"] === name && span.attributes["reconcile.plan"] === plan;

test("a resource that is applied → the reconcile that creates, and within it the call, its operations, and the status write", async () => {
  const receiver = await OtlpReceiver.start();
  const world = await startWorld({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint } });
  await world.apply("orders", orders);
  const { metadata, status } = await world.untilReady("orders");
  const operationId = status.operations?.find(({ action }) => action === "start_compute")?.id ?? "none in status";
  // A span arrives after the spans within it. The time in which a stop sends the last ones is short.
  const reconcile = await receiver.untilSpan("the create", reconcileOf("orders", "CreateEndpoint"));
  await world.stopOperator();

  expect(reconcile.parentSpanId).toBeUndefined();
  expect(reconcile.isFailed).toBe(false);
  expect(reconcile.attributes).toEqual({
    "k8s.namespace.name": world.namespace,
    "resource.name": "orders",
    "resource.uid": metadata.uid,
    "resource.generation": 1,
    "reconcile.plan": "CreateEndpoint",
    "reconcile.outcome": "Accepted",
    "operation.ids": [operationId],
  });
  const children = receiver.childrenOf(reconcile);
  const call = children.find(({ name }) => name === create);
  expect(call?.attributes).toEqual({ "http.response.status_code": 201, "url.path": `/projects/${project}/endpoints` });
  const write = children.find(({ name }) => name === "PATCH kubernetes");
  expect(write?.attributes["url.path"]).toMatch(`/namespaces/${world.namespace}/computeendpoints/orders/status`);
  for (const child of [call, write]) {
    expect(child?.startNanos).toBeGreaterThanOrEqual(reconcile.startNanos);
    expect(child?.endNanos).toBeLessThanOrEqual(reconcile.endNanos);
  }
  expect(
    receiver.spans().filter(({ name }) => name === create),
    "creates",
  ).toHaveLength(1);
  expect(reconcile.resource).toMatchObject({ "service.name": "endpoint-operator", "service.version": "0.0.0-test" });
});

test("a control plane that asks to wait, and then refuses → failed spans with status and reason", async () => {
  const receiver = await OtlpReceiver.start();
  const world = await startWorld({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint } });
  const path = `/api/v2/projects/${project}/endpoints`;
  await world.sandbox.fault({ method: "POST", path, times: 1 }, { kind: "status", status: 429, retryAfterSeconds: 1 });
  await world.sandbox.fault(
    { method: "POST", path, times: 1 },
    { kind: "status", status: 400, message: "made-up words" },
  );
  await world.apply("orders", orders);
  const { status } = await world.untilStalled("orders", "Rejected");
  expect(conditionOf(status.conditions, "Stalled")?.message).toContain("made-up words");
  const isRefused = ({ attributes }: ReceivedSpan) => attributes["reconcile.reason"] === "Malformed";
  await receiver.untilSpan("the refused reconcile", isRefused);
  await world.stopOperator();

  const calls = receiver.spans().filter(({ name }) => name === create);
  expect(calls.map(({ attributes }) => attributes)).toMatchObject([
    { "http.response.status_code": 429, "error.type": "Throttled" },
    { "http.response.status_code": 400, "error.type": "Malformed" },
  ]);
  const reconciles = receiver.spans().filter(({ spanId }) => calls.some(({ parentSpanId }) => parentSpanId === spanId));
  expect(
    reconciles.map(({ isFailed, attributes }) => [
      isFailed,
      attributes["reconcile.outcome"],
      attributes["reconcile.reason"],
    ]),
  ).toEqual([
    [true, "Failed", "Throttled"],
    [true, "Failed", "Malformed"],
  ]);
  expect(receiver.text()).not.toContain("made-up words");
});

test("a receiver that is not there → the resource is Ready all the same, and one line says so", async () => {
  const world = await startWorld({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" } });
  await world.apply("orders", orders);
  await world.untilReady("orders");
  await world.stopOperator();
  const lines = world.logs.filter(({ message }) => message === "traces are lost: their receiver does not accept them");
  expect(lines.length).toBeLessThanOrEqual(1);
  const unfinished = world.logs.filter(
    ({ message }) => message === "a step of the shutdown did not end in time; the next step begins",
  );
  expect(unfinished.map(({ fields }) => fields.step)).toContain("traces");
});
