import { expect, onTestFinished, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { findFreePorts } from "../../tools/process/free-ports.ts";
import { newApiKey, SandboxProcess, type SandboxProcessOptions } from "../support/e2e-sandbox.ts";
import { E2eWorld } from "../support/e2e-world.ts";

async function startSandbox(options: SandboxProcessOptions = {}): Promise<SandboxProcess> {
  const sandbox = await SandboxProcess.start(options);
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

test("a control plane that is not there yet → the condition says so, the operator lives on, Ready once it is there", async () => {
  const [port = 0] = await findFreePorts(1);
  const apiKey = newApiKey();
  const world = await E2eWorld.start({ url: `http://127.0.0.1:${port}/api/v2`, apiKey });
  const operator = await world.startOperator();
  await world.apply(
    "early",
    { id: "brave-lynx-000001", branches: ["br-first-lake-000001", ""] },
    { type: "ReadWrite" },
  );
  const { status } = await world.untilReadyReason("early", "ServiceUnavailable");
  expect(conditionOf(status.conditions, "Reconciling")?.status).toBe("True");
  expect((await operator.probe("/livez")).status).toBe(200);
  expect((await operator.probe("/readyz")).status).toBe(200);

  const sandbox = await startSandbox({ port, apiKey });
  const ready = await world.untilReady("early");
  expect(await sandbox.endpointIdsEver(sandbox.takeProject())).toEqual([ready.status.ownership?.endpointId]);
  expect(operator.exit).toBeUndefined();
});
