/** Tests how grants of Namespaces are read. */
import { describe, expect, test } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import type { KubernetesCall, KubernetesConnection } from "../../../src/kubernetes/http/connection.ts";
import { createNamespaceWatch } from "../../../src/kubernetes/namespace-watch.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

const annotation = "endpoint-operator.dev/projects";

/** A cluster whose Namespaces are read by name, or listed. */
function scene(namespaces: readonly string[]) {
  const grants = new Map<string, string>();
  const failures = new Map<string, KubernetesError>();
  const changes: (string | undefined)[] = [];
  const warnings: string[] = [];
  let version = 1;
  const stored = (name: string) => {
    version += 1;
    const annotations = grants.has(name) ? { [annotation]: grants.get(name) } : {};
    return { metadata: { name, uid: `uid-${name}`, resourceVersion: String(version), annotations } };
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
  const watch = createNamespaceWatch({
    ...{ connection, clock, namespaces, random: () => 0.5, readAgainMs: 1_000 },
    logger: { ...quietLogger, warn: (_fields, message) => void warnings.push(message) },
    onChange: (namespace) => void changes.push(namespace),
  });
  return { grants, failures, changes, warnings, clock, watch };
}

describe("Namespaces that are read by name", () => {
  test("an annotation comes, changes and goes → known at the next read; the first and the last concern all", async () => {
    const { watch, grants, changes, clock } = scene(["shop", "crm"]);
    await watch.listConsistently();
    expect(watch.grantsOf("shop")).toMatchObject({ annotation: undefined, isAnyAnnotated: false });
    watch.start();
    for (const value of ["a-1", "b-2"]) {
      grants.set("shop", value);
      await clock.advance(1_000);
      expect(watch.grantsOf("shop")).toMatchObject({ annotation: value, isAnyAnnotated: true });
      expect(watch.grantsOf("crm")).toMatchObject({ annotation: undefined, isAnyAnnotated: true });
    }
    grants.clear();
    await clock.advance(1_000);
    expect(watch.grantsOf("shop")).toMatchObject({ annotation: undefined, isAnyAnnotated: false });
    expect(changes).toEqual([undefined, "shop", undefined]);
    await watch.stop();
  });

  test("no right in one of them → a warning, and the others are known all the same", async () => {
    const { watch, grants, failures, warnings } = scene(["shop", "crm"]);
    grants.set("crm", "a-1");
    failures.set("shop", new KubernetesError("Forbidden", "cannot read namespace shop: forbidden"));
    await watch.listConsistently();
    expect(watch.grantsOf("crm").annotation).toBe("a-1");
    expect(warnings).toHaveLength(1);
  });

  test("no right in the first, and no answer about the second → the leader does not begin", async () => {
    const { watch, failures } = scene(["shop", "crm"]);
    failures.set("shop", new KubernetesError("Forbidden", "cannot read namespace shop: forbidden"));
    failures.set("crm", new KubernetesError("TimedOut", "cannot read namespace crm: no answer in time"));
    await expect(watch.listConsistently()).rejects.toThrow("no answer in time");
  });

  test("the API server does not answer → the leader does not begin; a later failure keeps what is known", async () => {
    const { watch, grants, failures, clock } = scene(["shop"]);
    grants.set("shop", "a-1");
    await watch.listConsistently();
    failures.set("shop", new KubernetesError("TimedOut", "cannot read namespace shop: no answer in time"));
    await expect(watch.listConsistently()).rejects.toThrow("no answer in time");
    watch.start();
    await clock.advance(5_000);
    expect(watch.grantsOf("shop").annotation).toBe("a-1");
    await watch.stop();
  });
});

describe("all Namespaces", () => {
  test("listed → their annotations are known", async () => {
    const { watch, grants } = scene([]);
    grants.set("shop", "a-1");
    watch.start();
    await watch.listConsistently();
    expect(watch.grantsOf("shop")).toMatchObject({ annotation: "a-1", isAnyAnnotated: true });
    await watch.stop();
  });

  test.each(["Forbidden", "NotFound"] as const)(
    "%s → none counts as annotated, and the leader begins",
    async (reason) => {
      const { watch, failures, warnings } = scene([]);
      failures.set("namespaces", new KubernetesError(reason, "cannot list Namespaces"));
      watch.start();
      await watch.listConsistently();
      expect(watch.grantsOf("shop")).toMatchObject({ annotation: undefined, isAnyAnnotated: false });
      expect(warnings.some((text) => text.includes("apply the roles"))).toBe(true);
      await watch.stop();
    },
  );
});
