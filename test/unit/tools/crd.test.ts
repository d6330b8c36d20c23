/** Tests the generated CustomResourceDefinitions. */
import { describe, expect, it } from "vitest";
import { buildStructuralSchema, computeEndpointCrd, type StructuralSchema } from "../../../tools/crd.ts";
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

  it("no field of spec → has a default, which would make absent mean managed", () => {
    const spec = schema.properties?.spec ?? {};
    expect(nodesOf(spec).filter(([, node]) => "default" in node)).toEqual([]);
  });
});
