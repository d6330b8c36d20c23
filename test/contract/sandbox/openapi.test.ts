/** Tests the OpenAPI document of the sandbox. */
import { describe, expect, test } from "vitest";
import { freshSandbox } from "./sandbox-client.ts";

describe("openapi.json", () => {
  test("every route of the API and of the control API → documented under a name of its own", async () => {
    const client = await freshSandbox();
    const { status, headers, body } = await client.control("GET", "/openapi.json");
    expect({ status, type: headers.get("content-type") }).toEqual({
      status: 200,
      type: "application/json; charset=utf-8",
    });
    expect(body).toMatchObject({ openapi: "3.1.0", servers: [{ url: "/" }] });
    const methods = Object.values<object>(body.paths).flatMap((path) => Object.values(path));
    expect(methods.length).toBe(73);
    for (const { operationId, summary } of methods) expect(`${operationId} ${summary}`).toMatch(/^[a-z]\w+ [A-Z]/);
    expect(new Set(methods.map(({ operationId }) => operationId)).size).toBe(methods.length);
  });

  test("profiles → each documents its own sizes, delays and names", async () => {
    const fieldsIn = async (profile: "seed" | "public") => {
      const client = await freshSandbox({ profile });
      const { body } = await client.control("GET", "/openapi.json");
      const { patch } = body.paths["/api/v2/projects/{project_id}/endpoints/{endpoint_id}"];
      return patch.requestBody.content["application/json"].schema.properties.endpoint.properties;
    };
    const seed = await fieldsIn("seed");
    const other = await fieldsIn("public");
    expect(seed).not.toHaveProperty("name");
    expect(other).toHaveProperty("name");
    expect(Math.max(...seed.autoscaling_limit_max_cu.enum)).toBe(8);
    expect(Math.max(...other.autoscaling_limit_max_cu.enum)).toBe(56);
    expect(other.suspend_timeout_seconds.anyOf).toEqual([{ maximum: 0 }, { minimum: 60 }]);
  });
});

describe("405", () => {
  test("a method that a route does not know → Allow names those it knows; never without a key", async () => {
    const client = await freshSandbox();
    const known = await client.api("PUT", "/projects/green-fox-123456/endpoints");
    expect({ status: known.status, allow: known.headers.get("allow") }).toEqual({
      status: 405,
      allow: "GET, HEAD, POST",
    });
    expect((await client.api("PUT", "/projects/green-fox-123456/endpoints", { key: undefined })).status).toBe(401);
    expect((await client.api("PUT", "/nope")).status).toBe(404);
    expect((await client.control("DELETE", "/clock")).status).toBe(405);
    const query = await client.api("QUERY", "/projects");
    expect(query.status).toBe(405);
    const head = await client.api("HEAD", "/projects");
    expect({ status: head.status, body: head.body }).toEqual({ status: 200, body: undefined });
  });
});
