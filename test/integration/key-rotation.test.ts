/** Tests that a new key in the Secret is used. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { adminKubectl } from "../support/api-server.ts";
import type { LoggedRequest } from "../support/sandbox-control.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, startWorld, type World } from "../support/world.ts";

const home = "endpoint-operator-system";
const secretName = "control-plane-api-key";
const orders = { branchId: branches.orders, type: "ReadWrite", suspend: { mode: "Never" } } as const;

async function storeKey(key: string): Promise<void> {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { namespace: home, name: secretName } };
  await adminKubectl().run(["apply", "--server-side", "--filename", "-"], {
    stdin: JSON.stringify({ ...secret, stringData: { "api-key": key } }),
  });
}

async function deleteSecret(): Promise<void> {
  await adminKubectl().run(["--namespace", home, "delete", "secret", secretName, "--ignore-not-found"]);
}

/** Returns the requests that the control plane refused because of their key, since the given one. */
async function refusedSince(world: World, sequence: number): Promise<readonly LoggedRequest[]> {
  return (await world.sandbox.requests(sequence)).filter(({ status }) => status === 401);
}

async function lastSequence(world: World): Promise<number> {
  return (await world.sandbox.requests()).at(-1)?.sequence ?? 0;
}

beforeAll(deleteSecret);

test("the Secret gets another key → used, and the revoked one never again, whatever the file holds", async () => {
  onTestFinished(deleteSecret);
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-key-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = path.join(directory, "api-key");
  await writeFile(file, "");
  const world = await startWorld({
    environment: {
      CONTROL_PLANE_API_KEY: "",
      CONTROL_PLANE_API_KEY_FILE: file,
      CONTROL_PLANE_API_KEY_SECRET: `${secretName}/api-key`,
    },
  });
  const first = await world.sandbox.newKey("first");
  await storeKey(first);
  // The file never follows the Secret.
  await writeFile(file, first);
  await world.apply("orders", orders);
  await world.untilReady("orders");
  const second = await world.sandbox.newKey("second");
  const beforeRevoked = await lastSequence(world);
  await world.sandbox.revokeKey("first");
  // After two refusals, the operator waits some seconds before it tries the same key again.
  await waitUntil(async () => ((await refusedSince(world, beforeRevoked)).length >= 2 ? true : undefined), {
    what: "the revoked key is refused twice",
  });
  const beforeStored = await lastSequence(world);
  await storeKey(second);
  const storedAtMs = Date.now();
  const firstAccepted = async () =>
    (await world.sandbox.requests(beforeStored)).find(({ key, status }) => key === "second" && status === 200)
      ?.sequence;
  const sinceAccepted = await waitUntil(firstAccepted, { what: "the new key is used" });
  expect(Date.now() - storedAtMs).toBeLessThan(10_000);

  // The file still holds the revoked key.
  await deleteSecret();
  await world.apply("orders", { ...orders, compute: { minUnits: 1, maxUnits: 2 } });
  await world.untilReady("orders");
  expect(await refusedSince(world, sinceAccepted), "no request with the old key after the change").toEqual([]);
  expect(await world.sandbox.endpoints(project)).toMatchObject([{ autoscaling_limit_max_cu: 2 }]);
});
