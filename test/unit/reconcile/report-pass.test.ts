import { beforeEach, describe, expect, it } from "vitest";
import { recordSpans } from "../../support/recorded-spans.ts";
import { asked, key, ReconcilerWorld } from "./reconciler-world.ts";

const named = { namespace: "shop", name: "orders", uid: "uid-orders" };

let world: ReconcilerWorld;

beforeEach(() => {
  world = new ReconcilerWorld();
});

describe("the log of passes", () => {
  it("a new resource until it is Ready → a line for each pass that did something, with resource, plan and operation", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    const [endpointId] = world.made();
    const [operation] = world.service.operations;
    expect(world.operator.infos).toMatchObject([
      { ...named, plan: "AddFinalizer" },
      { ...named, plan: "RecordIntent", outcome: "Done" },
      { ...named, plan: "CreateEndpoint", outcome: "Accepted", endpointId, operationId: operation?.id },
      { ...named, plan: "Settled", outcome: "Done", endpointId, counted: 1 },
    ]);
    expect(world.operator.counted).toHaveLength(1);
  });

  it("a settled resource that is looked at again → not a word", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    const said = world.operator.infos.length;
    await world.operator.pass(key);
    await world.operator.pass(key);
    expect(world.operator.infos).toHaveLength(said);
  });

  it("a change that starts several operations → all of them, and the last as the one to wait for", async () => {
    world.store.put(asked({ spec: { compute: { minUnits: 1, maxUnits: 1 } } }));
    await world.operator.run(key);
    const update = world.service.updateEndpoint.bind(world.service);
    world.service.updateEndpoint = async (...args) => {
      const { endpoint, operations } = await update(...args);
      const [only] = operations;
      if (only === undefined) throw new Error("the change started nothing");
      return { endpoint, operations: [{ ...only, id: "op-before" }, only] };
    };
    world.store.edit(key, (resource) => ({
      spec: asked({ spec: { compute: { minUnits: 2, maxUnits: 2 } } }).spec,
      generation: resource.generation + 1,
    }));
    await world.operator.pass(key);
    const last = world.service.operations.at(-1)?.id;
    expect(world.operator.infos.at(-1)).toMatchObject({
      plan: "UpdateEndpoint",
      operationId: last,
      operationIds: ["op-before", last],
    });
  });

  it("a refusal → its reason, and the words that the status holds too", async () => {
    world.store.put(asked());
    await world.operator.run(key, 2);
    world.service.failNext("createEndpoint", { kind: "Refuse", reason: "Rejected" });
    await world.operator.pass(key);
    expect(world.operator.infos.at(-1)).toMatchObject({ ...named, plan: "CreateEndpoint", reason: "Rejected" });
    expect(world.operator.infos.at(-1)?.error).toEqual(expect.any(String));
  });

  it("a delete that is sent again because nothing came of it → a line for each, though the status stays as it is", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    world.store.delete(key);
    let sent = 0;
    world.service.deleteEndpoint = async () => {
      sent += 1;
      return undefined;
    };
    await world.operator.run(key, 40);
    expect(sent).toBeGreaterThan(2);
    const deletes = world.operator.infos.filter(({ plan }) => plan === "DeleteEndpoint");
    expect(deletes.map(({ outcome }) => outcome)).toEqual(Array(sent).fill("Accepted"));
  });

  it("a resource that goes → the line of its release names the endpoint that it had", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    const [endpointId] = world.made();
    world.store.delete(key);
    await world.operator.run(key);
    const plans = world.operator.infos.slice(-2).map(({ plan }) => plan);
    expect(plans).toEqual(["DeleteEndpoint", "RemoveFinalizer"]);
    expect(world.operator.infos.at(-2)).toMatchObject({ ...named, endpointId });
    expect(world.operator.infos.at(-1)).toMatchObject({ ...named, endpointId, cause: "Gone" });
  });
});

describe("the spans of passes", () => {
  it("a new resource until it is Ready → one span for each pass, with plan, outcome and the operation it started", async () => {
    const { tracer, spans } = recordSpans();
    world = new ReconcilerWorld(tracer);
    world.store.put(asked());
    await world.operator.run(key);
    const [operation] = world.service.operations;
    const passes = spans().filter(({ name }) => name === "pass");
    expect(passes.map(({ attributes }) => [attributes["pass.plan"], attributes["pass.outcome"]])).toEqual([
      ["AddFinalizer", "Done"],
      ["RecordIntent", "Done"],
      ["CreateEndpoint", "Accepted"],
      ["Settled", "Done"],
    ]);
    expect(passes[2]).toEqual({
      name: "pass",
      parent: undefined,
      failure: undefined,
      events: [],
      attributes: {
        "k8s.namespace.name": "shop",
        "resource.name": "orders",
        "resource.uid": "uid-orders",
        "resource.generation": 1,
        "pass.plan": "CreateEndpoint",
        "pass.outcome": "Accepted",
        "operation.ids": [operation?.id],
      },
    });
  });

  it("a read that fails, and a bug → failed spans with the reason, and not the words", async () => {
    const { tracer, spans } = recordSpans();
    world = new ReconcilerWorld(tracer);
    world.store.put(asked());
    world.service.failNext("listOperations", { kind: "Refuse", reason: "Unavailable" });
    await world.operator.run(key, 3);
    expect(spans().map(({ failure }) => failure)).toContain("Unavailable");
    world.store.addFinalizer = () => Promise.reject(new TypeError("words"));
    world.store.put(asked({ name: "other" }));
    await world.operator.pass({ namespace: "shop", name: "other" });
    expect(spans().at(-1)).toMatchObject({ failure: "TypeError", attributes: { "pass.plan": "AddFinalizer" } });
    expect(JSON.stringify(spans())).not.toContain("words");
  });
});
