import { describe } from "vitest";
import {
  endpoint,
  intent,
  memory,
  monotonicMs,
  observation,
  otherName,
  owned,
  ownership,
  ownName,
  resource,
} from "./builders.ts";
import { itPlans, type PlanCase } from "./check-plan.ts";

type Origin = "Created" | "Adopted" | "Presumed";

/** What becomes of the endpoint, by the policy in spec and how it came to us. */
const fates: readonly (readonly ["Delete" | "Retain" | undefined, Origin, "deleted" | "retained"])[] = [
  ["Delete", "Created", "deleted"],
  ["Delete", "Adopted", "deleted"],
  ["Delete", "Presumed", "deleted"],
  ["Retain", "Created", "retained"],
  ["Retain", "Adopted", "retained"],
  ["Retain", "Presumed", "retained"],
  [undefined, "Created", "deleted"],
  [undefined, "Adopted", "retained"],
  [undefined, "Presumed", "retained"],
];

function dying(policy: "Delete" | "Retain" | undefined, origin: Origin) {
  const managed = policy === undefined ? {} : { deletionPolicy: policy };
  return { managed, status: { ownership: ownership({ origin }) }, resource: { isDeleting: true } };
}

describe("deletion policy", () => {
  itPlans(
    fates.flatMap(([policy, origin, fate]): PlanCase[] => {
      const { managed, ...change } = dying(policy, origin);
      const name = `policy ${policy ?? "absent"}, ${origin}`;
      const isKept = fate === "retained";
      return [
        {
          name: `${name}, endpoint there → ${isKept ? "lets go and leaves it" : "deletes it"}`,
          why: "absent means Delete for what we created and Retain for what was lent to us",
          given: owned(managed, change),
          want: isKept
            ? { kind: "RemoveFinalizer", cause: "Retained", abandoned: undefined }
            : { kind: "DeleteEndpoint", endpointId: "ep-own-1", cause: "Deletion" },
        },
        {
          name: `${name}, endpoint proven gone → lets go`,
          why: "there is nothing left to delete",
          given: owned(managed, { ...change, endpoints: [] }),
          want: { kind: "RemoveFinalizer", cause: isKept ? "Retained" : "Gone" },
        },
        {
          name: `${name}, list and read by id disagree → ${isKept ? "lets go" : "waits"}`,
          why: "a list that lags is no proof that the endpoint is gone",
          given: owned(managed, { ...change, remote: { kind: "Unproven" } }),
          want: isKept ? { kind: "RemoveFinalizer", cause: "Retained" } : { kind: "Wait", reason: "Deleting" },
        },
      ];
    }),
  );
});

describe("deletion", () => {
  const change = { resource: { isDeleting: true } };
  itPlans([
    {
      name: "nothing was ever created → lets go",
      why: "there is nothing outside",
      given: observation({ resource: resource({ isDeleting: true }) }),
      want: { kind: "RemoveFinalizer", cause: "NeverCreated", abandoned: undefined },
    },
    {
      name: "a create was answered and is not stored yet → records it first",
      why: "the answer is the only trace of that endpoint",
      given: observation({
        resource: resource({ isDeleting: true }),
        memory: memory({
          answeredCreate: { endpoint: endpoint({ id: "ep-new-2" }), operations: [], hash: "h", attempt: "attempt-1" },
        }),
      }),
      want: { kind: "RecordOwnership", ownership: { endpointId: "ep-new-2", origin: "Created" } },
    },
    {
      name: "a create was answered and is not stored yet, Retain → records it first all the same",
      why: "the person is told which endpoint stays",
      given: observation({
        resource: resource({
          isDeleting: true,
          spec: { deletionPolicy: "Retain" },
          status: { createIntent: intent() },
        }),
        memory: memory({
          answeredCreate: { endpoint: endpoint({ id: "ep-new-2" }), operations: [], hash: "h", attempt: "attempt-1" },
        }),
      }),
      want: { kind: "RecordOwnership", ownership: { endpointId: "ep-new-2" } },
    },
    {
      name: "open create, Retain → lets go and says what was abandoned",
      why: "a remedy that works without the service, and no silent leak",
      given: observation({
        resource: resource({
          isDeleting: true,
          spec: { deletionPolicy: "Retain" },
          status: { createIntent: intent({ suspectIds: ["ep-x-9"] }) },
        }),
      }),
      want: { kind: "RemoveFinalizer", cause: "Retained", abandoned: { suspectIds: ["ep-x-9"] } },
    },
    {
      name: "DELETE just sent, endpoint still listed → waits",
      why: "a list may lag behind the answer",
      given: owned({}, { ...change, memory: memory({ lastWriteMs: monotonicMs - 1, lastDeleteMs: monotonicMs - 1 }) }),
      want: { kind: "Wait", reason: "Deleting", requeueAfterMs: 5_000 },
    },
    {
      name: "DELETE sent long ago, endpoint still listed → sends it again",
      why: "the answer promised something that did not happen",
      given: owned(
        {},
        { ...change, memory: memory({ lastWriteMs: monotonicMs - 120_000, lastDeleteMs: monotonicMs - 120_000 }) },
      ),
      want: { kind: "DeleteEndpoint", cause: "Deletion" },
    },
    {
      name: "a second endpoint with our token → that one first",
      why: "both are ours, and none may be left over",
      given: owned(
        {},
        { ...change, endpoints: [endpoint({ name: ownName }), endpoint({ id: "ep-twin-2", name: ownName })] },
      ),
      want: { kind: "DeleteEndpoint", endpointId: "ep-twin-2", cause: "Duplicate" },
    },
    {
      name: "an endpoint with another resource's token → is not touched",
      why: "it is not ours",
      given: owned({}, { ...change, endpoints: [endpoint(), endpoint({ id: "ep-twin-2", name: otherName })] }),
      want: { kind: "DeleteEndpoint", endpointId: "ep-own-1" },
    },
    {
      name: "an operation that never ends → does not block deletion",
      why: "the service decides by its lock, not we by a list",
      given: owned(
        {},
        {
          ...change,
          operations: [
            {
              id: "op-stuck",
              projectId: "green-fox-123456",
              branchId: "br-main-1",
              endpointId: "ep-own-1",
              action: "apply_config",
              status: "running",
              failuresCount: 0,
              createdTime: "2026-11-01T00:00:00Z",
              updatedTime: "2026-11-01T00:00:00Z",
              totalDurationMs: undefined,
              error: undefined,
            },
          ],
        },
      ),
      want: { kind: "DeleteEndpoint" },
    },
  ]);
});
