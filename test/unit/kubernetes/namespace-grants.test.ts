/** Tests how grants of Namespaces are read. */
import { describe, expect, onTestFinished, test } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import type { KubernetesCall, KubernetesConnection } from "../../../src/kubernetes/http/connection.ts";
import { NamespaceGrants, parseNamespace } from "../../../src/kubernetes/namespace-grants.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

const annotation = "endpoint-operator.dev/projects";

/** A cluster whose Namespaces are read by name, or listed. */
function scene(namespaces: readonly string[]) {
  const grants = new Map<string, string>();
  const failures = new Map<string, KubernetesError>();
  const changes: (string | undefined)[] = [];
  const stored = (name: string) => {
    const annotations = grants.has(name) ? { [annotation]: grants.get(name) } : {};
    return { metadata: { name, uid: `uid-${name}`, resourceVersion: grants.get(name) ?? "none", annotations } };
  };
  const connection: KubernetesConnection = {
    namespace: "default",
    async request({ path }: KubernetesCall) {
      const name = path.split("/").at(-1) ?? "";
      const failure = failures.get(name);
      if (failure !== undefined) throw failure;
      return name === "namespaces"
        ? { metadata: { resourceVersion: "9" }, items: [...grants.keys()].map(stored) }
        : stored(name);
    },
    openStream: async ({ signal }) => ({
      async *[Symbol.asyncIterator]() {
        await new Promise((resolve) => signal?.addEventListener("abort", resolve, { once: true }));
      },
    }),
    close: async () => {},
  };
  const clock = new FakeClock();
  const all = new NamespaceGrants({
    connection,
    clock,
    namespaces,
    random: () => 0.5,
    readAgainMs: 1_000,
    logger: quietLogger,
    onChange: (namespace) => void changes.push(namespace),
  });
  all.start();
  onTestFinished(() => all.stop());
  return { grants, failures, changes, clock, all };
}

describe("Namespaces that are read by name", () => {
  test("an annotation comes, changes and goes → known at the next read; the first and the last concern all", async () => {
    const { all, grants, changes, clock } = scene(["shop", "crm"]);
    await all.listConsistently();
    expect(all.grantsOf("shop")).toMatchObject({ annotation: undefined, isAnyAnnotated: false });
    changes.length = 0;
    for (const value of ["a-1", "b-2"]) {
      grants.set("shop", value);
      await clock.advance(1_000);
      expect(all.grantsOf("shop")).toMatchObject({ annotation: value, isAnyAnnotated: true });
      expect(all.grantsOf("crm")).toMatchObject({ annotation: undefined, isAnyAnnotated: true });
    }
    grants.clear();
    await clock.advance(1_000);
    expect(all.grantsOf("shop")).toMatchObject({ annotation: undefined, isAnyAnnotated: false });
    expect(changes).toEqual([undefined, "shop", undefined]);
  });

  test("the API server does not answer → the leader does not begin, and what is known stays", async () => {
    const { all, grants, failures, clock } = scene(["shop", "crm"]);
    grants.set("shop", "a-1");
    await all.listConsistently();
    failures.set("shop", new KubernetesError("TimedOut", "cannot read namespace shop: no answer in time"));
    await expect(all.listConsistently()).rejects.toThrow("no answer in time");
    await clock.advance(5_000);
    expect(all.grantsOf("shop").annotation).toBe("a-1");
  });

  test("a Namespace does not exist, then it does → no failure, and its grants are known", async () => {
    const { all, grants, failures, clock } = scene(["shop"]);
    failures.set("shop", new KubernetesError("NotFound", "it does not exist"));
    await all.listConsistently();
    expect(all.grantsOf("shop").labels).toBeUndefined();
    failures.clear();
    grants.set("shop", "a-1");
    await clock.advance(1_000);
    expect(all.grantsOf("shop").annotation).toBe("a-1");
  });
});

test("a Namespace with branches-of alone → its parents are known", () => {
  const metadata = { name: "pr-42", uid: "u", resourceVersion: "1" };
  const annotations = { "endpoint-operator.dev/branches-of": "p-1/main" };
  const { facts } = parseNamespace({ metadata: { ...metadata, annotations } });
  expect(facts).toEqual({ annotation: undefined, branchesOf: "p-1/main", labels: {} });
});

test("all Namespaces are listed → their annotations are known", async () => {
  const { all, grants } = scene([]);
  grants.set("shop", "a-1");
  await all.listConsistently();
  expect(all.grantsOf("shop")).toMatchObject({ annotation: "a-1", isAnyAnnotated: true });
});
