/** The schema of operations in answers, and the conversion of operation records into it. */
import { z } from "zod";
import { operationExtras, type Profile, profiles } from "../../engine/profile.ts";
import type { OperationRecord } from "../../engine/records.ts";
import { codecOf, fieldsOf, stampFields } from "./codec.ts";

const field = fieldsOf<OperationRecord>();

const operation = codecOf<OperationRecord>()({
  id: field(z.string(), ({ id }) => id),
  project_id: field(z.string(), ({ projectId }) => projectId),
  branch_id: field(z.string(), ({ branchId }) => branchId),
  endpoint_id: field(z.string().optional(), ({ endpointId }) => endpointId),
  action: field(z.string(), ({ action }) => action),
  status: field(z.string(), ({ status }) => status),
  failures_count: field(z.int(), ({ failuresCount }) => failuresCount),
  ...stampFields<OperationRecord>(),
  total_duration_ms: field(z.int().optional(), ({ createdMs, updatedMs }) => updatedMs - createdMs),
  error: field(z.string().optional(), ({ error }) => error),
});

export const operationBody = operation.body;

const viewers = {
  seed: operation.viewer(hiddenIn(profiles.seed)),
  public: operation.viewer(hiddenIn(profiles.public)),
};

function hiddenIn(profile: Profile): readonly string[] {
  return operationExtras.filter((name) => !profile.operationExtras.includes(name));
}

export function operationView(record: OperationRecord, { name }: Profile): z.output<typeof operationBody> {
  return viewers[name](record);
}
