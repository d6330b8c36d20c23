/** Tests a control plane that refuses, or answers nonsense. */
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { branches, project, startWorld } from "../support/world.ts";

const orders = { branchId: branches.orders, type: "ReadWrite" } as const;
const endpointsPath = `/api/v2/projects/${project}/endpoints`;

describe.each(["seed", "public"] as const)("profile %s", (profile) => {
  describe("a control plane that refuses", () => {
    test("403 → that project is Stalled Forbidden, another one is not touched by it", async () => {
      const world = await startWorld({ sandbox: { profile } });
      await world.sandbox.fault(
        { method: "*", path: `/api/v2/projects/${project}/**` },
        { kind: "status", status: 403, message: "the key may not do that" },
      );
      await world.apply("orders", orders);
      await world.apply("other", { projectId: "tiny-owl-654321", branchId: "br-calm-hill-654321", type: "ReadWrite" });
      const stalled = await world.untilStalled("orders", "Forbidden");
      expect(conditionOf(stalled.status.conditions, "Stalled")?.message).toContain("the key may not do that");
      await world.untilReady("other");
    });

    test("an unknown project or branch → Reconciling and named, not Stalled at once, nothing created", async () => {
      const world = await startWorld({ sandbox: { profile } });
      await world.apply("lost", { projectId: "not-there-000000", branchId: branches.orders, type: "ReadWrite" });
      await world.apply("astray", { branchId: "br-not-there-000000", type: "ReadWrite" });
      for (const name of ["lost", "astray"]) {
        const { status } = await world.until(name, "says what is missing", (seen) => {
          return conditionOf(seen.status.conditions, "Ready")?.reason === "Retrying";
        });
        expect(conditionOf(status.conditions, "Ready")?.message).toMatch(/not found/);
        expect(conditionOf(status.conditions, "Reconciling")?.status).toBe("True");
      }
      expect(await world.sandbox.endpoints(project)).toEqual([]);
    });

    test("400 → Stalled Rejected with the control plane's words; an edit gets a new try at once", async () => {
      const world = await startWorld({ sandbox: { profile } });
      await world.sandbox.fault(
        { method: "POST", path: endpointsPath, times: 1 },
        { kind: "status", status: 400, message: "endpoint.settings is not allowed here" },
      );
      await world.apply("orders", { ...orders, settings: { pgSettings: { work_mem: "1MB" } } });
      const stalled = await world.untilStalled("orders", "Rejected");
      expect(conditionOf(stalled.status.conditions, "Stalled")?.message).toContain(
        "endpoint.settings is not allowed here",
      );
      expect(stalled.status.createIntent, "open and clean: the next try reuses it").toBeDefined();
      await world.apply("orders", orders);
      await world.untilReady("orders");
      expect(await world.sandbox.endpoints(project)).toHaveLength(1);
    });

    test("423 and 429 → waited for, no failure and no event, then done", async () => {
      const world = await startWorld({ sandbox: { profile } });
      await world.sandbox.fault({ method: "POST", path: endpointsPath, times: 2 }, { kind: "status", status: 423 });
      await world.sandbox.fault(
        { method: "POST", path: endpointsPath, times: 1 },
        { kind: "status", status: 429, retryAfterSeconds: 1 },
      );
      await world.apply("orders", orders);
      const { status } = await world.untilReady("orders");
      expect(conditionOf(status.conditions, "LastOperationSucceeded")?.status).toBe("True");
      await world.untilEvents("orders", ["EndpointCreated", "EndpointReady"]);
      expect(await world.sandbox.endpoints(project)).toHaveLength(1);
    });

    test("the free tier's refusal of a large replica → named with the control plane's words", async () => {
      const world = await startWorld({ sandbox: { profile } });
      const place = { projectId: "tiny-owl-654321", branchId: "br-calm-hill-654321" };
      await world.apply("replica", { ...place, type: "ReadOnly", compute: { minUnits: 4, maxUnits: 4 } });
      await world.until("replica", "Retrying with the reason", ({ status }) => {
        return conditionOf(status.conditions, "Ready")?.reason === "Retrying";
      });
      expect((await world.get("replica"))?.status.createIntent, "open and clean").toBeDefined();
    });
  });

  describe("a control plane that answers nonsense", () => {
    const nonsense = {
      HTML: "<html><body>Bad gateway</body></html>",
      "truncated JSON": '{"endpoints": [{"id": "ep-',
      "wrong types": '{"endpoints": {"id": 7}}',
      nothing: "",
    };

    test.each(Object.entries(nonsense))("%s → named in the condition, never taken for absence", async (_what, body) => {
      const world = await startWorld({ sandbox: { profile } });
      await world.apply("orders", orders);
      const before = await world.untilReady("orders");
      await world.sandbox.fault({ method: "GET", path: endpointsPath }, { kind: "garbage", body });
      await world.sandbox.fault({ method: "GET", path: `${endpointsPath}/*` }, { kind: "garbage", body });
      const seen = await world.until("orders", "UnreadableAnswer", ({ status }) => {
        return conditionOf(status.conditions, "Ready")?.reason === "UnreadableAnswer";
      });
      expect(seen.status.ownership).toEqual(before.status.ownership);
      await world.delete("orders");
      await world.reconcile("orders");
      expect((await world.get("orders"))?.metadata.finalizers).toEqual(["endpoint-operator.dev/endpoint"]);
      await world.sandbox.clearFaults();
      await world.untilGone("orders");
      expect(await world.sandbox.endpoints(project)).toEqual([]);
    });

    test("an unknown state and action → shown as they are, Ready all the same", async () => {
      const world = await startWorld({ sandbox: { profile } });
      await world.apply("orders", orders);
      const { status } = await world.untilReady("orders");
      const [endpoint] = await world.sandbox.endpoints(project);
      const body = JSON.stringify({ endpoints: [{ ...endpoint, current_state: "hibernating" }] });
      await world.sandbox.fault({ method: "GET", path: endpointsPath }, { kind: "garbage", body });
      const seen = await world.until("orders", "the new state is shown", (each) => each.status.state === "hibernating");
      expect(conditionOf(seen.status.conditions, "Ready")?.status).toBe("True");
      expect(seen.status.ownership).toEqual(status.ownership);
    });
  });

  describe("a create whose answer is lost", () => {
    test("read-write → found again, never a second one", async () => {
      const world = await startWorld({ sandbox: { profile } });
      await world.sandbox.fault({ method: "POST", path: endpointsPath, times: 1 }, { kind: "dropAfter" });
      await world.apply("orders", { ...orders, compute: { minUnits: 1, maxUnits: 1 } });
      const { status } = await world.untilReady("orders");
      expect(status.ownership?.origin).toBe(profile === "public" ? "Created" : "Presumed");
      expect(await world.sandbox.endpoints(project)).toHaveLength(1);
    });

    test("read-only, lost before it was applied → sent again only after the settle time, exactly one endpoint", async () => {
      // The first operator waits for a settle time that does not end within the test.
      const world = await startWorld({ sandbox: { profile }, environment: { CREATE_SETTLE_SECONDS: "600" } });
      await world.sandbox.fault({ method: "POST", path: endpointsPath, times: 1 }, { kind: "dropBefore" });
      await world.apply("replica", { branchId: branches.main, type: "ReadOnly" });
      const waiting = await world.until("replica", "waits", ({ status }) => {
        return conditionOf(status.conditions, "Ready")?.reason === "CreateUnresolved";
      });
      expect(waiting.status.createIntent).toBeDefined();
      await world.reconcile("replica");
      expect((await world.sandbox.requests()).filter(({ method }) => method === "POST")).toHaveLength(1);
      await world.restartOperator({ CREATE_SETTLE_SECONDS: "1" });
      await world.untilReady("replica");
      expect(await world.sandbox.endpoints(project)).toHaveLength(1);
    });
  });
});

test("401 → CredentialsValid False, few probes; a working key → on it goes", async () => {
  const world = await startWorld();
  await world.sandbox.fault(
    { method: "*", path: "/api/v2/**" },
    { kind: "status", status: 401, message: "supplied credentials do not pass authentication" },
  );
  for (const name of ["one", "two", "three"]) {
    await world.apply(name, { branchId: branches.main, type: "ReadOnly" });
  }
  await world.until("three", "CredentialsValid False", ({ status }) => {
    return conditionOf(status.conditions, "CredentialsValid")?.status === "False";
  });
  const refused = (await world.sandbox.requests()).filter(({ status }) => status === 401);
  expect(refused.length, "one probe at a time, not one for each resource").toBeLessThan(8);
  await world.sandbox.clearFaults();
  for (const name of ["one", "two", "three"]) {
    const { status } = await world.untilReady(name);
    expect(conditionOf(status.conditions, "CredentialsValid")?.status).toBe("True");
  }
});

describe("a replica's create whose answer is lost", () => {
  test("names echoed → found by its token", async () => {
    const world = await startWorld({ sandbox: { profile: "public" } });
    await world.sandbox.fault({ method: "POST", path: endpointsPath, times: 1 }, { kind: "dropAfter" });
    await world.apply("replica", { branchId: branches.main, type: "ReadOnly" });
    const { status } = await world.untilReady("replica");
    expect(status.ownership?.origin).toBe("Created");
    expect(await world.sandbox.endpoints(project)).toHaveLength(1);
  });

  test("names not echoed → CreateAmbiguous; adopt or abandon by annotation ends it", async () => {
    const world = await startWorld({ sandbox: { profile: "seed" } });
    for (const name of ["adopted", "abandoned"]) {
      await world.sandbox.fault({ method: "POST", path: endpointsPath, times: 1 }, { kind: "dropAfter" });
      await world.apply(name, { branchId: branches.main, type: "ReadOnly" });
      await world.untilStalled(name, "CreateAmbiguous");
    }
    const abandoned = await world.get("abandoned");
    const [candidate] = (await world.sandbox.endpoints(project)).map(({ id }) => id);
    await world.annotate("adopted", "resolveCreate", `adopt=${candidate}`);
    await world.annotate("abandoned", "resolveCreate", `abandon=${abandoned?.status.createIntent?.attempt}`);
    expect((await world.untilReady("adopted")).status.ownership?.endpointId).toBe(candidate);
    await world.untilReady("abandoned");
    const endpoints = await world.sandbox.endpoints(project);
    expect(endpoints, "one each, and the one that was abandoned").toHaveLength(3);
  });

  test("names echoed, applied late within the settle time → found, not doubled", async () => {
    // The settle time does not end within the test.
    const environment = { CREATE_SETTLE_SECONDS: "600" };
    const world = await startWorld({ sandbox: { profile: "public" }, environment });
    const late = await world.sandbox.fault({ method: "POST", path: endpointsPath }, { kind: "applyLate" });
    await world.apply("replica", { branchId: branches.main, type: "ReadOnly" });
    await world.until("replica", "CreateUnresolved", ({ status }) => {
      return conditionOf(status.conditions, "Ready")?.reason === "CreateUnresolved";
    });
    await world.sandbox.control("POST", `/faults/${late}/release`);
    await world.untilReady("replica");
    await world.reconcile("replica");
    expect(await world.sandbox.endpoints(project)).toHaveLength(1);
  });
});
