/** Tests that secrets in errors of the control plane are shown nowhere. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { OtlpReceiver } from "../support/otlp-receiver.ts";
import { startPlaneWorld } from "../support/plane-world.ts";
import { newSecret, secret } from "../support/secrets.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, startWorld } from "../support/world.ts";

const endpointsPath = `/api/v2/projects/${project}/endpoints`;

// These tests check that the texts arrived without their secrets. The last test of `npm test` checks that no other
// output of operators contains a secret.
test("errors of the control plane that quote the key and a connection string → shown everywhere without them", async () => {
  const apiKey = newSecret("api-key");
  // Only this profile shows why an operation failed.
  const profile = "public";
  const receiver = await OtlpReceiver.start();
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint };
  const world = await startWorld({ sandbox: { apiKey, profile }, environment });
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite", suspend: { mode: "Never" } });
  const { status } = await world.untilReady("orders");
  const query = `branch_id=${branches.orders}&database_name=neondb&role_name=neondb_owner`;
  const { uri } = await world.sandbox.api<{ uri: string }>("GET", `/projects/${project}/connection_uri?${query}`);
  const password = secret(new URL(uri).password);
  const quoted = `key ${apiKey} (Bearer ${apiKey}), ${uri}`;

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
  const isLogged = () => world.logs.some(({ fields }) => `${fields.error}`.includes("no such size: key [redacted]"));
  await waitUntil(() => isLogged() || undefined, { what: "the refusal is logged" });
  await world.untilEventsWith("orders", "OperationFailed", "Rejected");
  const shown = [words, message].join();
  for (const hidden of [apiKey, password, uri]) expect(shown).not.toContain(hidden);
});

test("errors of a team's control plane that quote its key and an access's Secret → shown everywhere without them", async () => {
  const receiver = await OtlpReceiver.start();
  const planes = await startPlaneWorld({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint } });
  const { world, access, second, apiKey } = planes;
  await planes.apply("controlplane/second");
  const controlPlaneRef = { kind: "ControlPlane", name: "second" };
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite", controlPlaneRef });
  await access.apply("app", {});
  await access.untilReady("app");
  const secrets = await access.secret("app");
  const { password = "", uri = "", pgpass = "" } = secrets?.data ?? {};
  const message = `no: key ${apiKey}, password=${password}, ${uri}, ${pgpass}`;
  const path = `/api/v2/projects/${project}/branches/*/roles/*/reset_password`;
  await second.fault({ method: "POST", path }, { kind: "status", status: 400, message });
  await access.annotate("app", "rotateRequestedAt", "now");
  const refused = await access.until("app", "refused", ({ status }) =>
    JSON.stringify(status.conditions).includes("no: key [redacted]"),
  );
  const plane = await planes.get("controlplane/second");
  await receiver.untilSpan("a read of the project", ({ name }) => name.endsWith("/endpoints"));
  const shown = JSON.stringify([refused.status, plane?.status, world.logs, receiver.text(), await world.metrics()]);
  for (const hidden of [apiKey, password, uri, pgpass]) {
    expect(hidden.length).toBeGreaterThan(8);
    expect(shown).not.toContain(hidden);
  }
});
