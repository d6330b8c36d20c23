import type { FastifyInstance } from "fastify";
import { ApiError, notPlayedSection } from "../parts/errors.ts";

/** Routes of the public API that the sandbox does not support. `*` at the end stands for everything below. */
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

/** Without computes there are no schemas. */
const schemas = ["schema", "compare_schema"].map((path) => `/projects/:project_id/branches/:branch_id/${path}`);

/** Adds routes that answer 501 to every method: the real control plane would do something, the sandbox does nothing. */
export function unplayedRoutes(app: FastifyInstance, { playsSchemas }: { readonly playsSchemas: boolean }): void {
  for (const url of playsSchemas ? unplayed : [...unplayed, ...schemas]) {
    app.all(url, { config: { isUndocumented: true, ignoresBody: true } }, () => {
      throw new ApiError(501, `this route of the public API is not played, see ${notPlayedSection}`);
    });
  }
}
