/** Tests that the bundled sandbox serves its page. */
import { expect, onTestFinished, test } from "vitest";
import type { OpenApiDocument } from "../../src/sandbox/http/openapi/openapi-types.ts";
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
  "the bundle, profile %s → serves the OpenAPI document that the sources serve, and a reference of each of its routes",
  async (profile) => {
    const origin = await startBundled(profile);
    const sources = await startSandbox({ profile });
    onTestFinished(() => sources.stop());
    const document = JSON.parse(await text(`${origin}/sandbox/v1/openapi.json`, "application/json")) as OpenApiDocument;
    expect(document).toEqual(await (await fetch(`${sources.controlUrl}/openapi.json`)).json());
    const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(routes.length).toBeGreaterThan(60);
    const reference = await text(`${origin}/reference`, "text/html");
    for (const route of routes) expect(reference).toContain(`>${route.replace(" ", "</span> ")}</code>`);
  },
);

test("the bundle → serves the page at / with all that it asks for", async () => {
  const origin = await startBundled("seed");
  const page = await text(`${origin}/`, "text/html");
  expect(page).toContain("green-fox-123456");
  const files = [...page.matchAll(/(?:href|src)="(\/[^"?#]+)"/g)].map(([, path]) => path as string);
  expect(files.length).toBeGreaterThanOrEqual(3);
  for (const path of new Set(files)) {
    const response = await fetch(`${origin}${path}`);
    expect({ path, status: response.status, isEmpty: (await response.text()) === "" }).toEqual({
      path,
      status: 200,
      isEmpty: false,
    });
  }
});
