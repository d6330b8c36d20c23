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
  test("a write within a reconcile → a span in the span of the reconcile, with its path", async () => {
    const { inner, tracer, traced, spans } = tracedConnection();
    inner.respond = () => ({ kind: "ComputeEndpoint" });
    const write = () => traced.request(call("PATCH", orders));
    expect(await tracer.inSpan("reconcile", {}, write)).toEqual({ kind: "ComputeEndpoint" });
    expect(spans()[0]).toEqual({
      name: "PATCH kubernetes",
      parent: "reconcile",
      failure: undefined,
      attributes: { "url.path": orders },
    });
  });

  test("a conflict → thrown on, with its reason on the span and not its words", async () => {
    const { inner, traced, spans } = tracedConnection();
    inner.respond = () => {
      throw new KubernetesError("Conflict", "words");
    };
    await expect(traced.request(call("PATCH", orders))).rejects.toThrow("words");
    expect(spans()[0]).toMatchObject({ failure: "Conflict", attributes: { "error.type": "Conflict" } });
    expect(JSON.stringify(spans())).not.toContain("words");
  });

  test.each([call("GET", orders), call("POST", objectPath("events", "shop"))])(
    "$method $path → made as it is, without a span",
    async (made) => {
      const { inner, traced, spans } = tracedConnection();
      await traced.request(made);
      expect(inner.calls).toEqual([made]);
      expect(spans()).toEqual([]);
    },
  );
});
