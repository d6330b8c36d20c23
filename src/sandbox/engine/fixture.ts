/**
 * The fixture: the projects, branches and endpoints of a sandbox that starts without stored records. A file can replace
 * the built-in fixture.
 */
import { z } from "zod";
import builtIn from "./built-in-fixture.json" with { type: "json" };
import { longestSuspendSeconds, nameText } from "./records.ts";

const id = z.string().regex(/^[a-z0-9-]{1,60}$/, "must be 1 to 60 of a-z, 0-9 and -");
const label = nameText(256);

const endpointSchema = z.strictObject({
  id: id.optional(),
  type: z.enum(["read_write", "read_only"]),
  minUnits: z.number().default(0.25),
  maxUnits: z.number().default(0.25),
  state: z.enum(["idle", "active"]).default("idle"),
  suspendTimeoutSeconds: z.int().min(-1).max(longestSuspendSeconds).default(0),
  name: z.string().min(1).max(64).optional(),
});

const branchSchema = z.strictObject({
  id,
  name: label,
  primary: z.boolean().default(false),
  endpoints: z.array(endpointSchema).default([]),
});

const projectSchema = z.strictObject({
  id,
  name: label,
  regionId: z.string().regex(/^[a-z]{1,16}-[a-z0-9-]{1,47}$/, "must look like aws-us-east-2"),
  plan: z.enum(["free", "paid"]).default("paid"),
  historyRetentionSeconds: z.int().min(0).default(86_400),
  branches: z.array(branchSchema).min(1),
});

const fixtureSchema = z.strictObject({ projects: z.array(projectSchema).min(1) }).superRefine((fixture, context) => {
  for (const { path, message } of problemsBetween(fixture.projects)) {
    context.addIssue({ code: "custom", path: [...path], message });
  }
});

export type Fixture = z.output<typeof fixtureSchema>;

interface Problem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

function problemsBetween(projects: Fixture["projects"]): readonly Problem[] {
  const seen = new Set<string>();
  const repeated = (value: string | undefined, path: Problem["path"]): Problem[] => {
    if (value === undefined) return [];
    if (seen.has(value)) return [{ path, message: `${value} is used twice` }];
    seen.add(value);
    return [];
  };
  return projects.flatMap((project, p) => [
    ...repeated(project.id, ["projects", p, "id"]),
    ...(project.branches.filter((branch) => branch.primary).length === 1
      ? []
      : [{ path: ["projects", p, "branches"], message: "exactly one branch must be primary" }]),
    ...project.branches.flatMap((branch, b) => [
      ...repeated(branch.id, ["projects", p, "branches", b, "id"]),
      ...(branch.endpoints.filter(({ type }) => type === "read_write").length > 1
        ? [{ path: ["projects", p, "branches", b, "endpoints"], message: "at most one endpoint may be read_write" }]
        : []),
      ...branch.endpoints.flatMap((endpoint, e) =>
        repeated(endpoint.id, ["projects", p, "branches", b, "endpoints", e, "id"]),
      ),
    ]),
  ]);
}

export class FixtureError extends Error {
  override readonly name = "FixtureError";
}

export function parseFixture(text: string): Fixture {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new FixtureError(`is not JSON: ${(error as Error).message}`, { cause: error });
  }
  const result = fixtureSchema.safeParse(parsed);
  if (result.success) return result.data;
  throw new FixtureError(result.error.issues.map(({ path, message }) => `${pathText(path)}: ${message}`).join("\n"));
}

function pathText(path: readonly PropertyKey[]): string {
  const text = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
  return text === "" ? "the file" : text.replace(/^\./, "");
}

/** Two projects, each with an idle read-write endpoint on its primary branch: one paid, one on the free tier. */
export const defaultFixture: Fixture = parseFixture(JSON.stringify(builtIn));

export const fixtureWithoutEndpoints: Fixture = {
  projects: defaultFixture.projects.map((project) => ({
    ...project,
    branches: project.branches.map((branch) => ({ ...branch, endpoints: [] })),
  })),
};
