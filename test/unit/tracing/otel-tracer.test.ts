/** Tests the tracer. */
import { describe, expect, test } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import { recordSpans } from "../../support/recorded-spans.ts";

const within = (name: string) => ({ name, attributes: {} });

describe("createOtelTracer", () => {
  test("spans begun within spans, several at once → each within the one it was begun in", async () => {
    const { tracer, spans } = recordSpans();
    await Promise.all(
      ["one", "two"].map((name) =>
        tracer.inSpan(within(name), async () => {
          await Promise.resolve();
          await tracer.inSpan(within(`${name}/a`), () => Promise.resolve());
          await tracer.inSpan(within(`${name}/b`), () => Promise.resolve());
        }),
      ),
    );
    await tracer.inSpan(within("three"), () => Promise.resolve());
    expect(spans().map(({ name, parent }) => `${name} in ${parent}`)).toHaveLength(7);
    expect(spans().map(({ name, parent }) => `${name} in ${parent}`)).toEqual(
      expect.arrayContaining([
        ...["one/a in one", "one/b in one", "two/a in two", "two/b in two"],
        ...["one in undefined", "two in undefined", "three in undefined"],
      ]),
    );
  });

  test("a detached span within another → of no span, and what is added afterwards goes to the outer one", async () => {
    const { tracer, spans } = recordSpans();
    await tracer.inSpan(within("outer"), async () => {
      await tracer.inSpan({ ...within("event"), isDetached: true }, () => Promise.resolve());
      tracer.annotate({ late: "yes" });
    });
    expect(spans()).toMatchObject([
      { name: "event", parent: undefined, attributes: {} },
      { name: "outer", attributes: { late: "yes" } },
    ]);
  });

  test("work that throws → the same error, and a span that names its reason and not its message", async () => {
    const { tracer, spans } = recordSpans();
    const error = new KubernetesError("Conflict", "made-up secret words");
    await expect(tracer.inSpan(within("write"), () => Promise.reject(error))).rejects.toBe(error);
    await expect(tracer.inSpan(within("bug"), () => Promise.reject(new TypeError("words")))).rejects.toThrow("words");
    expect(spans()).toMatchObject([
      { failure: "Conflict", attributes: { "error.type": "Conflict" } },
      { failure: "TypeError", attributes: { "error.type": "TypeError" } },
    ]);
    expect(JSON.stringify(spans())).not.toContain("words");
  });

  test("an absent attribute → left out; a secret in any text → taken out", async () => {
    const { tracer, spans } = recordSpans((text) => text.replaceAll("made-up-key", "[redacted]"));
    await tracer.inSpan({ name: "span", attributes: { a: undefined, b: "is made-up-key" } }, async () => {
      tracer.annotate({ c: ["x", "made-up-key"], d: undefined, e: 3 });
      tracer.addEvent("operation", { f: "made-up-key", g: undefined });
    });
    expect(spans()).toMatchObject([
      {
        attributes: { b: "is [redacted]", c: ["x", "[redacted]"], e: 3 },
        events: [{ name: "operation", attributes: { f: "[redacted]" } }],
      },
    ]);
    expect(Object.keys(spans()[0]?.attributes ?? {})).toEqual(["b", "c", "e"]);
  });

  test("outside of any span → nothing, and no error", () => {
    const { tracer, spans } = recordSpans();
    tracer.annotate({ a: "b" });
    tracer.addEvent("a", {});
    tracer.fail("Locked");
    expect(spans()).toEqual([]);
  });
});
