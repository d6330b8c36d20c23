import { beforeEach, describe, expect, it } from "vitest";
import { deleteUnrecorded } from "../../../src/reconcile/delete-unrecorded.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeOperator } from "../../support/fakes/fake-operator.ts";
import { FakeResourceStore } from "../../support/fakes/fake-resource-store.ts";
import { FakeService } from "../../support/fakes/fake-service.ts";
import { endpoint, project } from "../plan/builders.ts";

const unrecorded = { uid: "u", projectId: project, endpointId: "ep-own-1" };
let service: FakeService;
const remove = () => {
  const clock = new FakeClock();
  return deleteUnrecorded(new FakeOperator({ clock, store: new FakeResourceStore(), service }).connected, unrecorded);
};

beforeEach(() => {
  service = new FakeService(new FakeClock());
  service.add(endpoint());
});

describe("the endpoint of a resource that was gone", () => {
  it("deleted and not found any more → done", async () => {
    await remove();
    expect([...service.endpoints.keys()]).toEqual([]);
  });

  it("deleted, and found all the same → not done", async () => {
    service.beforeCall = (method) => {
      if (method === "getEndpoint") {
        service.add(endpoint());
      }
    };
    await expect(remove()).rejects.toMatchObject({ reason: "Rejected", effect: "Unknown" });
  });

  it.each(["deleteEndpoint", "getEndpoint"] as const)("%s fails → not done", async (method) => {
    service.failNext(method, { kind: "Refuse", reason: "Unavailable" });
    await expect(remove()).rejects.toMatchObject({ reason: "Unavailable" });
  });
});
