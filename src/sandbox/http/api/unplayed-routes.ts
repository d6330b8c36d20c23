/** Routes of the public API that the sandbox does not support. It answers them with 501. */
import type { FastifyInstance } from "fastify";
import { ApiError, notPlayedSection } from "../parts/errors.ts";

/** The paths that get 501. A `*` at the end stands for every path below. */
const unplayed = [
  "/consumption_history/*",
  "/organizations/*",
  "/users/me/projects/transfer",
  "/projects/auth/*",
  ...[
    "advisors",
    "auth/*",
    "available_preload_libraries",
    "branch_anonymized",
    "jwks",
    "jwks/*",
    "permissions",
    "permissions/*",
    "transfer_requests",
    "transfer_requests/*",
    "vpc_endpoints",
    "vpc_endpoints/*",
  ].map((path) => `/projects/:project_id/${path}`),
  ...[
    "ai_gateway",
    "anonymize",
    "anonymized_status",
    "auth",
    "auth/*",
    "backup_schedule",
    "buckets",
    "buckets/*",
    "credentials",
    "credentials/*",
    "data-api/*",
    "finalize_restore",
    "functions",
    "functions/*",
    "masking_rules",
    "recover",
    "storage",
  ].map((path) => `/projects/:project_id/branches/:branch_id/${path}`),
];

/** These paths get 501 only if the sandbox runs no computes, because schemas are read from a real server. */
const schemas = ["schema", "compare_schema"].map((path) => `/projects/:project_id/branches/:branch_id/${path}`);

/** Adds routes that answer 501 to every method. The real control plane has these routes, so 404 would be wrong. */
export function unplayedRoutes(app: FastifyInstance, { playsSchemas }: { readonly playsSchemas: boolean }): void {
  for (const url of playsSchemas ? unplayed : [...unplayed, ...schemas]) {
    app.all(url, { config: { isUndocumented: true, ignoresBody: true } }, () => {
      throw new ApiError(501, `the sandbox does not support this route of the public API, see ${notPlayedSection}`);
    });
  }
}
