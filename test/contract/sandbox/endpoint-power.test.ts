/** Tests the sandbox's routes that start, suspend and restart a compute. */
import { describe, expect, test } from "vitest";
import { branches, freshSandbox, latencyMs, paid, type SandboxClient, titles } from "./sandbox-client.ts";

async function endpointOf(client: SandboxClient, id: string) {
  return (await client.api("GET", `${paid}/endpoints/${id}`)).body.endpoint;
}

describe("power", () => {
  test("start of an idle one → start_compute running, active; of an active one → nothing", async () => {
    const client = await freshSandbox();
    const id = await client.idleEndpoint(branches.orders);
    const { body } = await client.api("POST", `${paid}/endpoints/${id}/start`);
    expect(body.endpoint).toMatchObject({ current_state: "idle", pending_state: "active" });
    expect(titles(body.operations)).toEqual(["start_compute running"]);
    await client.advance(latencyMs);
    const again = await client.api("POST", `${paid}/endpoints/${id}/start`);
    expect(again.body).toMatchObject({ endpoint: { current_state: "active" }, operations: [] });
  });

  test("suspend of an active one → suspend_compute running, idle; of an idle one → nothing", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const { body } = await client.api("POST", `${paid}/endpoints/${id}/suspend`);
    expect(body.endpoint).toMatchObject({ current_state: "active", pending_state: "idle" });
    expect(titles(body.operations)).toEqual(["suspend_compute running"]);
    await client.advance(latencyMs);
    const again = await client.api("POST", `${paid}/endpoints/${id}/suspend`);
    expect(again.body).toMatchObject({ endpoint: { current_state: "idle" }, operations: [] });
  });

  test("restart of an active one → suspend_compute, then start_compute; of an idle one → 422", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const { body } = await client.api("POST", `${paid}/endpoints/${id}/restart`);
    expect(body.endpoint.pending_state).toBe("active");
    expect(titles(body.operations)).toEqual(["suspend_compute running", "start_compute scheduling"]);
    await client.advance(latencyMs);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "idle", pending_state: "active" });
    await client.advance(latencyMs);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "active" });
    await client.api("POST", `${paid}/endpoints/${id}/suspend`);
    await client.advance(latencyMs);
    expect((await client.api("POST", `${paid}/endpoints/${id}/restart`)).status).toBe(422);
  });

  test.each([
    "application/json",
    "application/x-www-form-urlencoded",
    "text/plain",
    "foo",
    ";;",
    "multipart/form-data",
  ])("no body, content type %s → 200", async (type) => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    for (const verb of ["restart", "suspend", "start"]) {
      const headers = { "content-type": type };
      expect((await client.api("POST", `${paid}/endpoints/${id}/${verb}`, { headers })).status).toBe(200);
      await client.advance(2 * latencyMs);
    }
  });
});

describe("bodies that no request needs", () => {
  test.each([
    ["text/plain", "{"],
    ["text/plain", "hello"],
    ["application/json", '{"endpoint":{"disabled":true}}'],
  ])("power call and delete with %s %s → as without", async (type, body) => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const sending = { headers: { "content-type": type }, body };
    const { status, body: answer } = await client.api("POST", `${paid}/endpoints/${id}/suspend`, sending);
    expect({ status, disabled: answer.endpoint.disabled }).toEqual({ status: 200, disabled: false });
    await client.advance(latencyMs);
    expect((await client.api("DELETE", `${paid}/endpoints/${id}`, sending)).status).toBe(200);
  });
});

describe("auto-suspend", () => {
  test("no activity for 300 s → a suspend_compute of the control plane, idle", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    await client.advance(299_999);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "active" });
    await client.advance(1);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "active", pending_state: "idle" });
    await client.advance(latencyMs);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "idle" });
    const { body } = await client.api("GET", `${paid}/operations?limit=1`);
    expect(body.operations[0]).toMatchObject({ action: "suspend_compute", status: "finished", endpoint_id: id });
  });

  test("start of an active one is activity → the delay begins again", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    await client.advance(200_000);
    await client.api("POST", `${paid}/endpoints/${id}/start`);
    await client.advance(200_000);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "active" });
    await client.advance(100_000 + latencyMs);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "idle" });
  });

  test("delay set to 1 s → suspended as soon as the configuration is applied", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    await client.advance(10_000);
    await client.api("PATCH", `${paid}/endpoints/${id}`, { body: { endpoint: { suspend_timeout_seconds: 1 } } });
    await client.advance(2 * latencyMs);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "idle" });
  });

  test("never → still active after a month", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders, { suspend_timeout_seconds: -1 });
    await client.advance(30 * 86_400_000);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "active" });
  });
});
