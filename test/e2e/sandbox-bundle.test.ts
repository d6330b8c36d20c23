/** Tests that the bundled sandbox serves its page. */
import { expect, onTestFinished, test } from "vitest";
import type { OpenApiDocument } from "../../src/sandbox/http/specification/openapi-types.ts";
import { startSandbox } from "../../src/sandbox/index.ts";
import { bareEnvironment, bundledProgram, startProgram } from "../support/e2e-program.ts";

/**
 * Starts the sandbox of the bundle.
 * @returns its origin, when it has answered
 */
async function startBundled(profile: string): Promise<string> {
  const command = bundledProgram("sandbox", "--port", "0", "--profile", profile);
  const program = await startProgram({ ...command, env: bareEnvironment });
  onTestFinished(async () => void (await program.end("SIGTERM")));
  const [, url = ""] = await program.untilOutput(/listening on (\S+)\n/);
  const { origin } = new URL(url);
  await (await fetch(origin)).text();
  return origin;
}

async function text(url: string, type: string): Promise<string> {
  const response = await fetch(url);
  expect({ url, status: response.status, type: response.headers.get("content-type") }).toEqual({
    url,
    status: 200,
    type: `${type}; charset=utf-8`,
  });
  return response.text();
}

test.each(["seed", "public"] as const)(
  "the bundle, profile %s → serves the OpenAPI document that the sources serve",
  async (profile) => {
    const origin = await startBundled(profile);
    const sources = await startSandbox({ profile });
    onTestFinished(() => sources.stop());
    const document = JSON.parse(await text(`${origin}/sandbox/v1/openapi.json`, "application/json")) as OpenApiDocument;
    expect(document).toEqual(await (await fetch(`${sources.controlUrl}/openapi.json`)).json());
  },
);
