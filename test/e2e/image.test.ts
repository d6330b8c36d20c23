/** Tests the operator with the user and the files of its image. */
import { readFile } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { sharedApiServer } from "../support/api-server.ts";
import {
  apiKeyFile,
  imageProblem,
  imageUid,
  readProcessFacts,
  serviceAccountFolder,
  stageImage,
} from "../support/e2e-image.ts";
import { SandboxProcess } from "../support/e2e-sandbox.ts";
import { expectExactlyOne, expectNothingLeft, forEach, scenesOf } from "../support/e2e-scene.ts";
import { E2eWorld, shippedAccount } from "../support/e2e-world.ts";

/** The grace period of the Deployment. */
const gracePeriodMs = 60_000;

const problem = imageProblem();
const note = problem === undefined ? "" : ` (skipped: ${problem})`;
const title = `what the image would hold, as uid ${imageUid} in a pod's surroundings → does its work and stops cleanly`;

test.skipIf(problem !== undefined)(`${title}${note}`, async () => {
  const sandbox = await SandboxProcess.start();
  onTestFinished(() => sandbox.stop());
  const world = await E2eWorld.start(sandbox);
  const { url, caFile } = sharedApiServer();
  const { hostname, port } = new URL(url);
  const image = await stageImage({
    [`${serviceAccountFolder}/token`]: world.account.token,
    [`${serviceAccountFolder}/ca.crt`]: await readFile(caFile, "utf8"),
    [`${serviceAccountFolder}/namespace`]: shippedAccount.namespace,
    [apiKeyFile]: `${sandbox.apiKey}\n`,
  });
  onTestFinished(() => image.remove());
  const podSettings = {
    KUBECONFIG: undefined,
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
    CONTROL_PLANE_API_KEY: undefined,
    CONTROL_PLANE_API_KEY_FILE: `/${apiKeyFile}`,
    NODE_ENV: "production",
  };
  const operator = await world.startOperator(podSettings, image.command("run"));

  const isImageUser = process.getuid?.() === 0;
  const facts = await readProcessFacts(operator.pid);
  expect(facts).toMatchObject({ uid: imageUid, hasNoNewPrivileges: true });
  expect(facts.rootMountOptions).toContain("ro");
  if (isImageUser) {
    expect(facts).toMatchObject({ gid: imageUid, effectiveCapabilities: "0000000000000000" });
  }

  expect((await operator.probe("/livez")).status).toBe(200);
  expect((await operator.probe("/readyz")).status).toBe(200);
  const scenes = scenesOf(sandbox, world);
  await forEach(scenes, ({ name, project, type }) => world.apply(name, project, { type }));
  await forEach(scenes, expectExactlyOne);
  expect(await operator.scrape()).toContain(`compute_endpoint_info{namespace="${world.namespace}",name="writer"`);
  await world.delete(...scenes.map(({ name }) => name));
  await forEach(scenes, expectNothingLeft);

  const askedMs = performance.now();
  expect(await operator.stop()).toEqual({ code: 0, signal: null });
  expect(performance.now() - askedMs).toBeLessThan(gracePeriodMs);
});
