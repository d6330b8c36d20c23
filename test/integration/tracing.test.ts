/** Tests the spans of a reconcile. */
import { expect, test } from "vitest";
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
