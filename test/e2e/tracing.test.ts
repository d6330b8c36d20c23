/** Tests tracing in the bundled program. */
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { bareEnvironment, startProgram } from "../support/e2e-program.ts";
import { SandboxProcess } from "../support/e2e-sandbox.ts";
import { expectExactlyOne, scenesOf } from "../support/e2e-scene.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import { OtlpReceiver } from "../support/otlp-receiver.ts";
import { saveOutput } from "../support/outputs.ts";
import { newSecret } from "../support/secrets.ts";

async function startScene() {
  const sandbox = await SandboxProcess.start();
  onTestFinished(() => sandbox.stop());
  const world = await E2eWorld.start(sandbox);
  const [scene] = scenesOf(sandbox, world);
  if (scene === undefined) throw new Error("there is no scene");
  return { world, scene };
}

test("the bundle with a receiver that wants a key → spans arrive, the key shows nowhere; a stop does not wait for a receiver that hangs", async () => {
  const receiver = await OtlpReceiver.start();
  const key = newSecret("receiver-key");
  const { world, scene } = await startScene();
  const operator = await world.startOperator({
    OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.endpoint}/`,
    OTEL_EXPORTER_OTLP_HEADERS: `x-receiver-key=${key}`,
    OTEL_SERVICE_NAME: "databases",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
  });
  await world.apply(scene.name, scene.project, { type: scene.type });
  const { status } = await expectExactlyOne(scene);
  const create = await receiver.untilSpan("the create", ({ name }) => name === "POST /projects/{project_id}/endpoints");
  const reconcile = await receiver.untilSpan("its reconcile", ({ spanId }) => spanId === create.parentSpanId);
  expect(reconcile.attributes["operation.ids"]).toContain(status.operations?.at(-1)?.id);
  expect(reconcile).toMatchObject({ name: "reconcile", attributes: { "reconcile.plan": "CreateEndpoint" } });
  expect(reconcile.resource).toMatchObject({ "service.name": "databases", "deployment.environment.name": "test" });
  expect(receiver.headers.map((headers) => headers["x-receiver-key"])).toContain(key);

  receiver.mood = "Hangs";
  // So there are spans that the receiver has not accepted.
  await world.annotate(scene.name, "reconcileRequestedAt", "now");
  await world.resources.until(scene.name, "reconciled", (resource) => resource.status.lastHandledReconcileAt === "now");
  expect(await operator.stop()).toEqual({ code: 0, signal: null });
  expect(operator.output()).toMatch(/"unfinished":\[[^\]]*"traces"/);
});

test("the bundle without its file for tracing → missed only when tracing is on: else nothing of it is loaded", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "endpoint-operator-untraced-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const bundled = inject("bundledProgram");
  await cp(path.dirname(bundled), folder, { recursive: true });
  const chunks = path.join(folder, "chunks");
  const names = await readdir(chunks);
  const withExporter = await Promise.all(
    names.map(async (name) =>
      (await readFile(path.join(chunks, name), "utf8")).includes("OTLPTraceExporter") ? [name] : [],
    ),
  );
  // The removed file contains the whole exporter.
  const [tracing = "no file", ...others] = withExporter.flat();
  expect(tracing).toMatch(/^start-tracing-/);
  expect(others).toEqual([]);
  await rm(path.join(chunks, tracing));
  const program = { command: process.execPath, args: [path.join(folder, path.basename(bundled)), "run"] };

  const service = { CONTROL_PLANE_URL: "http://127.0.0.1:1/v2", CONTROL_PLANE_API_KEY: newSecret("api-key") };
  const untraced = await startProgram({ ...program, env: { ...bareEnvironment, ...service } });
  expect(await untraced.exited).toMatchObject({ code: 2 });
  expect(untraced.stderr(), "it has come further").toMatch(/kubeconfig/i);

  const OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:1";
  const traced = await startProgram({
    ...program,
    env: { ...bareEnvironment, ...service, OTEL_EXPORTER_OTLP_ENDPOINT },
  });
  expect(await traced.exited).toMatchObject({ code: 1 });
  saveOutput("logs", traced.stdout() + traced.stderr());
  expect(traced.stderr()).toContain(tracing);
});
