import { z } from "zod";
import type { Profile } from "../../engine/profile.ts";
import { nameText, type ProjectRecord } from "../../engine/records.ts";
import { defaultPgVersion } from "../../engine/settings.ts";
import { firstEndpointFields, newBranchBody } from "./branch.ts";
import { codecOf, fieldsOf, stampFields, timestamp, timeText } from "./codec.ts";
import { operationBody } from "./operation.ts";

/** Id of the one account that everything belongs to. */
export const accountId = "user-sandbox";

/** A project, and the host name that its endpoints share. */
export interface ShownProject extends ProjectRecord {
  readonly proxyHost: string;
}

const field = fieldsOf<ShownProject>();
const zero = field(z.int(), () => 0);

const project = codecOf<ShownProject>()({
  id: field(z.string(), ({ id }) => id),
  name: field(z.string(), ({ name }) => name),
  region_id: field(z.string(), ({ regionId }) => regionId),
  platform_id: field(z.string(), ({ regionId }) => regionId.split("-")[0] ?? ""),
  pg_version: field(z.int(), ({ pgVersion }) => pgVersion),
  proxy_host: field(z.string(), ({ proxyHost }) => proxyHost),
  provisioner: field(z.string(), () => "k8s-neonvm"),
  store_passwords: field(z.boolean(), () => true),
  branch_logical_size_limit: zero,
  branch_logical_size_limit_bytes: zero,
  history_retention_seconds: field(z.int(), ({ historyRetentionSeconds }) => historyRetentionSeconds),
  data_storage_bytes_hour: zero,
  data_transfer_bytes: zero,
  written_data_bytes: zero,
  compute_time_seconds: zero,
  active_time_seconds: zero,
  active_time: zero,
  cpu_used_sec: zero,
  creation_source: field(z.string(), () => "console"),
  owner_id: field(z.string(), () => accountId),
  consumption_period_start: field(timestamp, ({ createdMs }) => monthStart(createdMs, 0)),
  consumption_period_end: field(timestamp, ({ createdMs }) => monthStart(createdMs, 1)),
  ...stampFields<ShownProject>(),
});

/** The start of the month of a time, or of a month after it. */
function monthStart(epochMs: number, monthsLater: number): string {
  const time = new Date(epochMs);
  return timeText(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + monthsLater));
}

/** A project, as clients read it. */
export const projectBody = project.body;

/** Shows a project. */
export const projectView = project.viewer();

/** A changed project, and the operations that the change started. */
export const projectMutationBody = z.object({ project: projectBody, operations: z.array(operationBody) });

/** A new project with everything that came with it. */
export const newProjectBody = newBranchBody.extend({ project: projectBody });

const historyRetention = z.int().min(0).max(2_592_000);

/** Size and suspend delay of the first endpoint, which a project's create has in either of two places. */
function endpointDefaults(profile: Profile) {
  return firstEndpointFields(profile).omit({ settings: true, provisioner: true });
}

/** Body of a project's create. */
export function projectCreateBody(profile: Profile) {
  const sizes = endpointDefaults(profile).omit({ suspend_timeout_seconds: true });
  return z.object({
    project: z.object({
      ...sizes.shape,
      name: nameText(64).optional(),
      region_id: z.string().max(64).optional(),
      pg_version: z.int().min(14).max(defaultPgVersion).default(defaultPgVersion),
      history_retention_seconds: historyRetention.default(86_400),
      default_endpoint_settings: endpointDefaults(profile).optional(),
      branch: z
        .object({
          name: nameText(256).optional(),
          role_name: nameText(63).optional(),
          database_name: nameText(63).optional(),
        })
        .optional(),
    }),
  });
}

/** Body of a project's update. */
export const projectUpdateBody = z.object({
  project: z.object({ name: nameText(64).optional(), history_retention_seconds: historyRetention.optional() }),
});
