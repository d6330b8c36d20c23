/** Tests what the client of the control plane sends, and what it reports of each request. */
import { expect, test } from "vitest";
import { branch, leanEndpoint, leanOperation, project } from "../../support/wire-objects.ts";
import { clientOf, recordingObserver } from "./client-fixture.ts";
import { json, raw, refusal, startRawService } from "./raw-service.ts";

test("any call → bearer key, accept, user agent, a content type only with a body", async () => {
  await using service = await startRawService(json(200, { endpoints: [], endpoint: leanEndpoint }));
  await using client = clientOf(service.url);
  await client.listEndpoints(project);
  await client.updateEndpoint(project, leanEndpoint.id, { disabled: true });
  expect(service.requests[0]?.headers).toMatchObject({
    authorization: "Bearer obviously-fake-key",
    accept: "application/json",
    "user-agent": "endpoint-operator/0.0.0-test",
  });
  expect(service.requests[0]?.headers["content-type"]).toBeUndefined();
  expect(service.requests[1]?.headers["content-type"]).toBe("application/json");
});

test("a page of operations → limit and cursor are escaped", async () => {
  const cursor = "2026-11-20T10:00:00.123+00:00 &x";
  await using service = await startRawService(json(200, { operations: [] }));
  await using client = clientOf(service.url);
  await client.listOperations(project, { limit: 7, cursor });
  const { searchParams } = new URL(service.requests[0]?.url ?? "", "http://x");
  expect(Object.fromEntries(searchParams)).toEqual({ limit: "7", cursor });
});

test.each([
  [{ compute_time_seconds: 90 }, 90],
  [{}, undefined],
])("a branch that shows %j → %s unit-seconds", async (shown, seconds) => {
  await using service = await startRawService(json(200, { branch: { id: branch, ...shown } }));
  await using client = clientOf(service.url);
  expect(await client.branchUnitSeconds({ projectId: project, branchId: branch })).toBe(seconds);
});

test.each([
  ["a/../../admin", "/api/v2/projects/a%2F..%2F..%2Fadmin/endpoints"],
  ["x?y#z", "/api/v2/projects/x%3Fy%23z/endpoints"],
])("project id %s → stays in its path segment", async (id, path) => {
  await using service = await startRawService(json(200, { endpoints: [] }));
  await using client = clientOf(service.url);
  await client.listEndpoints(id);
  expect(service.requests[0]?.url).toBe(path);
});

test("reads one after the other → one connection; every write → a connection of its own, closed after it", async () => {
  await using service = await startRawService(json(200, { endpoints: [], endpoint: leanEndpoint }));
  await using client = clientOf(service.url);
  await client.listEndpoints(project);
  await client.updateEndpoint(project, leanEndpoint.id, { disabled: true });
  await client.listEndpoints(project);
  await client.createEndpoint(project, { branchId: branch, type: "ReadWrite", name: "n" });
  await client.deleteEndpoint(project, leanEndpoint.id);
  await client.listEndpoints(project);
  expect(service.requests.map(({ connection }) => connection)).toEqual([1, 2, 1, 3, 4, 1]);
  expect(service.requests[3]?.headers.connection).toBe("close");
});

test("any outcome → the observer hears the route's template and the code", async () => {
  const { reported, observer } = recordingObserver();
  await using service = await startRawService(json(200, { endpoints: [] }));
  await using client = clientOf(service.url, { observer });
  await client.listEndpoints(project);
  service.answerWith(refusal(423, "project already has running conflicting operations"));
  await expect(client.updateEndpoint(project, leanEndpoint.id, {})).rejects.toThrow();
  service.answerWith(refusal(429, "slow down"));
  await expect(client.getEndpoint(project, leanEndpoint.id)).rejects.toThrow();
  service.answerWith(raw(200, "<html>"));
  await expect(client.getOperation(project, leanOperation.id)).rejects.toThrow();
  expect(reported).toEqual([
    "GET /projects/{project_id}/endpoints 200",
    "PATCH /projects/{project_id}/endpoints/{endpoint_id} 423",
    "locked ConflictingOperations",
    "GET /projects/{project_id}/endpoints/{endpoint_id} 429",
    "throttled TooManyRequests",
    "GET /projects/{project_id}/operations/{operation_id} UnreadableAnswer",
  ]);
});
