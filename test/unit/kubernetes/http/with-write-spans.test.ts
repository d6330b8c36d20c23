/** Tests the spans of writes to the API server. */
import { describe, expect, test } from "vitest";
import { KubernetesError } from "../../../../src/domain/resource-store.ts";
import { type KubernetesCall, withWriteSpans } from "../../../../src/kubernetes/http/connection.ts";
import { objectPath } from "../../../../src/kubernetes/http/objects.ts";
import { recordSpans } from "../../../support/recorded-spans.ts";
import { ScriptedConnection } from "../scripted-connection.ts";

const orders = objectPath("computeendpoints", "shop", "orders");
const call = (method: KubernetesCall["method"], path: string): KubernetesCall => ({
  what: "try",
  method,
  path,
  timeoutMs: 1_000,
});

function tracedConnection() {
  const inner = new ScriptedConnection();
  const { tracer, spans } = recordSpans();
  return { inner, tracer, spans, traced: withWriteSpans(inner, tracer) };
}

describe("withWriteSpans", () => {
  test("a status patch within a reconcile → a span in the span of the reconcile, with verb, resource, subresource and HTTP status", async () => {
    const { inner, tracer, traced, spans } = tracedConnection();
    inner.respond = ({ onStatus }) => {
      onStatus?.(200);
      return { kind: "ComputeEndpoint" };
    };
    const write = () => traced.request(call("PATCH", `${orders}/status`));
    expect(await tracer.inSpan({ name: "reconcile", attributes: {} }, write)).toEqual({ kind: "ComputeEndpoint" });
    expect(spans()[0]).toEqual({
      name: "patch computeendpoints/status",
      parent: "reconcile",
      failure: undefined,
      events: [],
      attributes: {
        "http.request.method": "PATCH",
        "http.response.status_code": 200,
        "k8s.namespace.name": "shop",
        "k8s.object.name": "orders",
        "k8s.resource": "computeendpoints",
        "k8s.subresource": "status",
        "k8s.verb": "patch",
      },
    });
  });

  test("a conflict → thrown on, with its status and reason on the span", async () => {
    const { inner, traced, spans } = tracedConnection();
    inner.respond = ({ onStatus }) => {
      onStatus?.(409);
      throw new KubernetesError("Conflict", "words");
    };
    await expect(traced.request(call("PATCH", orders))).rejects.toThrow("words");
    expect(spans()[0]).toMatchObject({
      name: "patch computeendpoints",
      failure: "Conflict",
      attributes: { "http.response.status_code": 409 },
    });
  });

  test("an event → a span that stands alone, also during a reconcile", async () => {
    const { tracer, traced, spans } = tracedConnection();
    const write = () => traced.request(call("POST", objectPath("events", "shop")));
    await tracer.inSpan({ name: "reconcile", attributes: {} }, write);
    expect(spans()[0]).toMatchObject({ name: "create events", parent: undefined });
  });

  test("a read → made as it is, without a span", async () => {
    const { inner, traced, spans } = tracedConnection();
    await traced.request(call("GET", orders));
    expect(inner.calls).toEqual([call("GET", orders)]);
    expect(spans()).toEqual([]);
    await expect(traced.openStream(call("GET", orders))).rejects.toThrow("no streams here");
  });
});
