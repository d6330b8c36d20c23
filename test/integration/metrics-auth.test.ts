/** Tests that only clients with the right token may read the metrics. */
import { readFile } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { adminKubectl, createTestNamespace, serviceAccountAccess } from "../support/api-server.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorld } from "../support/world.ts";

const rolesFile = new URL("../../deploy/metrics-auth/metrics-auth.yaml", import.meta.url);
const reader = "endpoint-operator-metrics-reader";
const admin = adminKubectl();

/**
 * Creates a service account in a namespace of the test.
 * @returns its credentials
 */
async function account(namespace: string, name: string) {
  await admin.run(["--namespace", namespace, "create", "serviceaccount", name]);
  return { subject: `${namespace}:${name}`, ...(await serviceAccountAccess(namespace, name)) };
}

/** Binds a ClusterRole for the duration of the test. */
async function bind(role: string, subject: string): Promise<void> {
  const binding = `${role}-${subject.replace(":", "-")}`;
  await admin.run(["create", "clusterrolebinding", binding, `--clusterrole=${role}`, `--serviceaccount=${subject}`]);
  onTestFinished(async () => {
    await admin.run(["delete", "clusterrolebinding", binding]);
  });
}

test("METRICS_AUTH=Token on a real API server → the shipped rights decide; without an answer nothing is shown", async () => {
  const roles = await readFile(rolesFile, "utf8");
  await admin.run(["apply", "--server-side", "--filename", "-"], { stdin: roles });
  onTestFinished(async () => {
    await admin.run(["delete", "--filename", "-"], { stdin: roles });
  });
  const namespace = await createTestNamespace("metrics");
  const [operator, prometheus] = [await account(namespace, "operator"), await account(namespace, "prometheus")];
  await bind("endpoint-operator", operator.subject);
  const environment = { METRICS_AUTH: "Token" };
  const world = await startWorld({ environment, operatorKubeconfig: operator.kubeconfigFile });
  const statusFor = async (token?: string) => (await world.scrape(token)).status;
  const untilStatus = (status: number) =>
    waitUntil(async () => ((await statusFor(prometheus.token)) === status ? true : undefined), {
      what: `the scrape is answered with ${status}`,
    });

  expect(await statusFor(prometheus.token), "the operator may not ask").toBe(503);
  await bind("endpoint-operator-metrics-auth", operator.subject);
  await untilStatus(403);
  const refused = await world.scrape();
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  expect(await statusFor(`${prometheus.token.slice(0, -4)}AAAA`), "a signature that is wrong").toBe(401);

  await bind(reader, prometheus.subject);
  await untilStatus(200);
  const answer = await world.scrape(prometheus.token);
  expect(await answer.text()).toContain("endpoint_operator_build_info{");
  expect(await statusFor(operator.token), "another account").toBe(403);
});
