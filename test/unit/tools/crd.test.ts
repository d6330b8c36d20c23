/** Tests the generated CustomResourceDefinitions. */
import { describe, expect, it } from "vitest";
import { buildCrd, buildStructuralSchema, computeEndpointCrd, type StructuralSchema } from "../../../tools/crd.ts";
import { staleFiles } from "../../../tools/generate.ts";

/** Returns every node of the schema with its path. */
function nodesOf(schema: StructuralSchema, path = ""): readonly (readonly [string, StructuralSchema])[] {
  const children = Object.entries(schema.properties ?? {}).flatMap(([name, child]) =>
    nodesOf(child, `${path}.${name}`),
  );
  const items = schema.items === undefined ? [] : nodesOf(schema.items, `${path}[]`);
  const values = schema.additionalProperties === undefined ? [] : nodesOf(schema.additionalProperties, `${path}{}`);
  return [[path, schema], ...children, ...items, ...values];
}

describe("the custom resource definition", () => {
  const schema = buildStructuralSchema(computeEndpointCrd);

  it("files on disk → are what the code says", async () => {
    expect(await staleFiles(), "run `npm run generate`").toEqual([]);
  });

  it("every field → is described, so that kubectl explain reads like documentation", () => {
    const bare = nodesOf(schema)
      .filter(([path, node]) => node.description === undefined && !/(\[\]|\{\}|^\.metadata)$/.test(path))
      .map(([path]) => path);
    expect(bare).toEqual([]);
  });

  it("every node → has a type and nothing that a structural schema forbids", () => {
    for (const [path, node] of nodesOf(schema)) {
      expect(node.type, path).toBeTypeOf("string");
      expect(node.properties !== undefined && node.additionalProperties !== undefined, path).toBe(false);
      for (const keyword of ["$ref", "$schema", "oneOf", "anyOf", "allOf", "not", "id"]) {
        expect(node, path).not.toHaveProperty([keyword]);
      }
    }
  });

  it("no field of spec → has a default, which would make absent mean managed", () => {
    const spec = schema.properties?.spec ?? {};
    expect(nodesOf(spec).filter(([, node]) => "default" in node)).toEqual([]);
  });

  it("status → starts as not looked at, and conditions merge by type", () => {
    const status = schema.properties?.status;
    expect(status?.default).toEqual({ observedGeneration: -1 });
    expect(status?.properties?.conditions).toMatchObject({
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
    });
  });

  it("every CEL rule → says in its message what would be right", () => {
    const rules = nodesOf(schema).flatMap(
      ([, node]) => (node["x-kubernetes-validations"] ?? []) as { message: string }[],
    );
    expect(rules.length).toBeGreaterThanOrEqual(8);
    for (const rule of rules) {
      expect(rule.message).toMatch(/must|required|not allowed|cannot be changed/);
    }
  });

  it("two calls → give the same definition", () => {
    expect(buildCrd(computeEndpointCrd)).toEqual(buildCrd(computeEndpointCrd));
  });
});
