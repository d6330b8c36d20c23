/**
 * Routes that read the schema of a database, and compare it with the schema on another branch. They exist only if the
 * sandbox runs computes.
 */
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { branchPath, errorResponses } from "../codecs/codec.ts";
import { ApiError } from "../parts/errors.ts";
import type { ServerParts } from "../parts/server-parts.ts";

const databaseName = z.string().min(1).max(63);

/** Adds the routes that read and compare schemas; without computes it adds none. */
export function schemaRoutes(app: FastifyInstance, { engine, schemaOf }: ServerParts): void {
  if (schemaOf === undefined) return;
  /** Returns the schema of a database as SQL. @throws ApiError 404, 422 */
  const read = async (projectId: string, branchId: string, database: string): Promise<string> => {
    const branch = engine.branch(projectId, branchId);
    if (branch.state !== "ready") throw new ApiError(422, `the branch ${branchId} is not ready`);
    if (!engine.objects.databases(projectId, branchId).some(({ name }) => name === database)) {
      throw new ApiError(404, `database ${database} not found on the branch ${branchId}`);
    }
    try {
      return await schemaOf(branchId, database);
    } catch (error) {
      throw new ApiError(422, `the schema cannot be read: ${(error as Error).message}`);
    }
  };
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    "/projects/:project_id/branches/:branch_id/schema",
    {
      config: { summary: "Read the schema of a database", notPlayed: ["lsn", "timestamp", "format=json"] },
      schema: {
        params: branchPath,
        querystring: z.object({ db_name: databaseName, format: z.enum(["sql"]).optional() }),
        response: { 200: z.object({ sql: z.string() }), ...errorResponses },
      },
    },
    async ({ params, query }) => ({ sql: await read(params.project_id, params.branch_id, query.db_name) }),
  );
  routes.get(
    "/projects/:project_id/branches/:branch_id/compare_schema",
    {
      config: {
        summary: "Compare the schema of a database with that of another branch",
        notPlayed: ["lsn", "timestamp", "base_lsn", "base_timestamp"],
      },
      schema: {
        params: branchPath,
        querystring: z.object({ db_name: databaseName, base_branch_id: z.string().optional() }),
        response: { 200: z.object({ diff: z.string() }), ...errorResponses },
      },
    },
    async ({ params: { project_id, branch_id }, query: { db_name, base_branch_id } }) => {
      const baseId = base_branch_id ?? engine.branch(project_id, branch_id).parentId;
      if (baseId === undefined) throw new ApiError(400, "base_branch_id: is needed, because the branch has no parent");
      const [base, own] = [await read(project_id, baseId, db_name), await read(project_id, branch_id, db_name)];
      return { diff: base === own ? "" : diffOf(db_name, base, own) };
    },
  );
}

/** Returns the differences of two texts in the unified format. */
function diffOf(name: string, before: string, after: string): string {
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY };
  return createTwoFilesPatch(`a/${name}`, `b/${name}`, before, after, undefined, undefined, options);
}
