import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { OtlpReceiver } from "../support/otlp-receiver.ts";
import { newSecret, secret } from "../support/secrets.ts";
import { branches, project, startWorld } from "../support/world.ts";

const endpointsPath = `/api/v2/projects/${project}/endpoints`;

// What is asserted here is that the texts arrived, without their secrets. That nothing else of all that operators said holds
// them is the last test of `npm test`.
test("errors of the service that quote key, password and connection string → shown everywhere without them", async () => {
  const apiKey = newSecret("api-key");
  // Only this dialect shows why an operation failed.
  const profile = "public";
  const receiver = await OtlpReceiver.start();
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint };
  const world = await startWorld({ sandbox: { apiKey, profile }, environment });
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite", suspend: { mode: "Never" } });
  const { status } = await world.untilReady("orders");
  const { uri, password } = await connectionOf(world.sandbox.api.bind(world.sandbox));
  const quoted = `key ${apiKey} (Bearer ${apiKey}), password=${password}, ${uri}`;

  const endpointPath = `/projects/${project}/endpoints/${status.ownership?.endpointId}`;
  await world.sandbox.api("POST", `${endpointPath}/suspend`);
  await world.sandbox.untilUnlocked(project);
  await world.sandbox.failNext("start_compute", { error: `host is full: ${quoted}` });
  await world.sandbox.api("POST", `${endpointPath}/start`);
  const failed = await world.until("orders", "a failed operation", ({ status: seen }) => {
    return conditionOf(seen.conditions, "LastOperationSucceeded")?.status === "False";
  });
  const words = failed.status.operations?.find(({ error }) => error !== undefined)?.error;
  expect(words).toMatch(/^host is full: key \[redacted\]/);

  await world.sandbox.fault(
    { method: "PATCH", path: `${endpointsPath}/*` },
    { kind: "status", status: 400, message: `no such size: ${quoted}` },
  );
  await world.apply("orders", {
    branchId: branches.orders,
    type: "ReadWrite",
    suspend: { mode: "After", afterSeconds: 400 },
  });
  const stalled = await world.untilStalled("orders", "Rejected");
  const message = conditionOf(stalled.status.conditions, "Stalled")?.message;
  expect(message).toMatch(/no such size: key \[redacted\]/);
  expect(world.logs.map(({ fields }) => String(fields.error)).join()).toContain("no such size: key [redacted]");
  expect(await world.eventReasons("orders")).toEqual(expect.arrayContaining(["OperationFailed", "Rejected"]));
  const shown = [words, message].join();
  for (const hidden of [apiKey, password, uri]) expect(shown).not.toContain(hidden);
});

type Api = <Body>(method: string, path: string) => Promise<Body>;

/** How a client connects to the branch: its first role's password, and the string that holds it. */
async function connectionOf(api: Api): Promise<{ readonly uri: string; readonly password: string }> {
  const branchPath = `/projects/${project}/branches/${branches.orders}`;
  const { roles } = await api<{ roles: readonly { name: string }[] }>("GET", `${branchPath}/roles`);
  const { databases } = await api<{ databases: readonly { name: string }[] }>("GET", `${branchPath}/databases`);
  const role = roles[0]?.name ?? "";
  const { password } = await api<{ password: string }>("GET", `${branchPath}/roles/${role}/reveal_password`);
  const query = new URLSearchParams({
    branch_id: branches.orders,
    database_name: databases[0]?.name ?? "",
    role_name: role,
  });
  const { uri } = await api<{ uri: string }>("GET", `/projects/${project}/connection_uri?${query}`);
  expect(uri).toContain(password);
  return { uri, password: secret(password) };
}
