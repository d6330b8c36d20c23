/** Tests single decisions. */
import { describe, expect, it } from "vitest";
import { noGrant } from "../../../../src/engine/grant.ts";
import { endpointName, ownershipToken } from "../../../../src/resource/identity.ts";
import { planOf } from "../../../../src/kinds/endpoint/decide.ts";
import type { Observation } from "../../../../src/kinds/endpoint/observation.ts";
import type { Plan } from "../../../../src/kinds/endpoint/plan.ts";
import {
  acknowledged,
  branch,
  claim,
  endpoint,
  observation,
  operation,
  otherBranch,
  owned,
  ownership,
  ownName,
  resource,
  spec,
  timeAt,
} from "./builders.ts";

interface Row {
  readonly name: string;
  readonly why: string;
  readonly given: Observation;
  readonly want: Partial<Record<string, unknown>> & Pick<Plan, "kind">;
}

const deleting = { isDeleting: true } as const;
const running = operation({ id: "op-own", action: "apply_config", status: "running" });
const sized = { compute: { minUnits: 1, maxUnits: 1 } } as const;

const elsewhere = endpoint({ name: endpointName("orders", ownershipToken("cluster-b", "uid-theirs")) });
const ownedElsewhereMessage = `Another cluster or another operator created the endpoint that this resource asks for (branch ${branch}). If nothing manages the endpoint there any more, set spec.adoption.takeOver to true, with spec.adoption.policy AdoptOrCreate or AdoptOnly. Otherwise choose another branch.`;

const planeProblem = { reason: "ControlPlaneNotFound", message: "There is no ClusterControlPlane north." } as const;

const rows: readonly Row[] = [
  {
    name: "the control plane cannot be used → says so",
    why: "the namespace may use it",
    given: { ...owned(), planeProblem },
    want: { kind: "Stall", reason: "ControlPlaneNotFound" },
  },
  {
    name: "the control plane cannot be used, no grant → only that",
    why: "a namespace without a grant must not learn which control planes exist",
    given: { ...owned(), planeProblem, grant: noGrant },
    want: { kind: "Stall", reason: "ProjectNotGranted" },
  },
  {
    name: "only a list shows the endpoint, and it differs → it is read by id before it is changed",
    why: "by id is the truth: the list may be a minute old",
    given: owned(sized, { readIds: [], endpoint: { minUnits: 2, maxUnits: 2 } }),
    want: { kind: "Look", endpointId: "ep-own-1" },
  },
  {
    name: "only a list shows the endpoint of a deleted resource → it is read by id before it is deleted",
    why: "by id is the truth: a list may still show what was deleted",
    given: owned({}, { readIds: [], resource: deleting }),
    want: { kind: "Look", endpointId: "ep-own-1" },
  },
  {
    name: "only a list shows an endpoint to adopt → it is read by id before it is recorded",
    why: "by id is the truth: the endpoint may be gone",
    given: observation({
      endpoints: [endpoint()],
      readIds: [],
      resource: resource({ spec: { adoption: { policy: "AdoptOnly" } } }),
    }),
    want: { kind: "Look", endpointId: "ep-own-1" },
  },
  {
    name: "only a list shows the endpoint, and it matches → settled",
    why: "a list is proof enough that nothing is to be done: one call per project, not per resource",
    given: owned({}, { readIds: [] }),
    want: { kind: "Settled" },
  },
  {
    name: "a list does not show the endpoint, and no read by id was answered → it is read by id",
    why: "a list that lags is no proof that the endpoint is gone",
    given: observation({ resource: resource({ status: { ownership: ownership() } }), readIds: [] }),
    want: { kind: "Look", endpointId: "ep-own-1" },
  },
  {
    name: "endpoint answered 404 by id → the finalizer goes",
    why: "S4: gone is proven",
    given: observation({ resource: resource({ ...deleting, status: { ownership: ownership() } }) }),
    want: { kind: "RemoveFinalizer", cause: "Gone" },
  },
  {
    name: "an own operation runs, spec changed → waits for it",
    why: "the control plane would refuse the change with 423",
    given: owned(sized, { operations: { ownInFlight: [running] }, status: { acknowledged: acknowledged(spec()) } }),
    want: { kind: "Wait", reason: "OperationInFlight" },
  },
  {
    name: "an own operation runs for a minute, spec changed → the change is tried",
    why: "L7: an operation that never ends blocks no rollback",
    given: owned(sized, {
      operations: { ownInFlight: [running], inFlightForMs: 60_000 },
      status: { acknowledged: acknowledged(spec()) },
      endpoint: { minUnits: 2, maxUnits: 2 },
    }),
    want: { kind: "UpdateEndpoint" },
  },
  {
    name: "an own operation runs for a minute, spec unchanged → waits on",
    why: "the same values are not sent again",
    given: owned({}, { operations: { ownInFlight: [running], inFlightForMs: 600_000 } }),
    want: { kind: "Wait", reason: "OperationInFlight" },
  },
  {
    name: "values drift, the time of the last request is a year ahead → sent again",
    why: "every wait that is computed from a stored time has a bound",
    given: owned(sized, {
      status: { acknowledged: acknowledged(spec(sized), { unmatchedAttempts: 1, time: timeAt(365 * 86_400_000) }) },
      endpoint: { minUnits: 2, maxUnits: 2 },
    }),
    want: { kind: "UpdateEndpoint" },
  },
  {
    name: "values drift twice after success → Stalled",
    why: "no third restart of a database",
    given: owned(sized, {
      status: { acknowledged: acknowledged(spec(sized), { attempts: 2, unmatchedAttempts: 2 }) },
      endpoint: { minUnits: 2, maxUnits: 2 },
    }),
    want: { kind: "Stall", reason: "DriftPersists" },
  },
  {
    name: "values drift twice, and an operation of the last request failed → sent again",
    why: "the failure is known by its id, not by comparing clocks",
    given: owned(sized, {
      operations: { failedIds: new Set(["op-7"]) },
      status: {
        acknowledged: acknowledged(spec(sized), {
          ...{ attempts: 2, unmatchedAttempts: 2, operationIds: ["op-7"], time: timeAt(-3_600_000) },
        }),
      },
      endpoint: { minUnits: 2, maxUnits: 2 },
    }),
    want: { kind: "UpdateEndpoint" },
  },
  ...(
    [
      ["no grant", {}, { grant: noGrant }],
      ["no control plane", {}, { planeProblem: { reason: "ControlPlaneNotFound", message: "" } }],
      ["an endpoint with our token", {}, { echoesNames: true, endpoints: [endpoint({ id: "ep-1", name: ownName })] }],
      ["the record of another uid", { ownership: ownership({ resourceUid: "uid-before" }) }, {}],
    ] as const
  ).map(
    ([state, status, change]): Row => ({
      name: `deletion without a record of this uid or an intent, ${state} → the finalizer goes at once`,
      why: "the operator has created nothing, so a typo or a wrong key must not hold the resource",
      given: observation({ resource: resource({ ...deleting, status }), ...change }),
      want: { kind: "RemoveFinalizer", cause: "NeverCreated" },
    }),
  ),
  {
    name: "a moved resource, its endpoint on the old branch → moved",
    why: "branchId is mutable",
    given: owned({}, { endpoint: { branchId: otherBranch } }),
    want: { kind: "MoveEndpoint", branchId: branch },
  },
  {
    name: "the record of another uid on a living resource → stalled, nothing changes",
    why: "a person copied the status of another resource, or a backup was restored with it",
    given: observation({ resource: resource({ status: { ownership: ownership({ resourceUid: "uid-before" }) } }) }),
    want: { kind: "Stall", reason: "IdentityUnproven" },
  },
  {
    name: "another resource has a valid record of the same endpoint → both are stalled, nothing changes",
    why: "S3: after a restore of etcd two resources would alternately change one endpoint",
    given: owned(sized, { claims: [claim({ ownedEndpointId: "ep-own-1" })] }),
    want: {
      kind: "Stall",
      reason: "OwnershipConflict",
      message:
        "This resource and ComputeEndpoint billing both own endpoint ep-own-1, so the operator changes nothing. Set spec.deletionPolicy to Retain on one of the two and delete that one.",
    },
  },
  {
    name: "another resource has a valid record of the same endpoint, being deleted → the endpoint is not deleted",
    why: "S3: the other resource still needs it",
    given: owned({}, { resource: deleting, claims: [claim({ ownedEndpointId: "ep-own-1" })] }),
    want: { kind: "Stall", reason: "OwnershipConflict" },
  },
  {
    name: "the branch has an endpoint of another cluster, no adoption → stalled, the remedy is named",
    why: "two clusters would fight over one database",
    given: observation({ echoesNames: true, endpoints: [elsewhere] }),
    want: { kind: "Stall", reason: "OwnedElsewhere", message: ownedElsewhereMessage },
  },
  {
    name: "the endpoint to adopt has the token of another cluster, also if named by id → stalled",
    why: "no adoption policy takes an endpoint that another operator may still manage",
    given: observation({
      echoesNames: true,
      endpoints: [elsewhere],
      resource: resource({ spec: { adoption: { policy: "AdoptOnly", endpointId: "ep-own-1" } } }),
    }),
    want: { kind: "Stall", reason: "OwnedElsewhere", message: ownedElsewhereMessage },
  },
  {
    name: "the endpoint to adopt has the token of another cluster, takeOver is true → adopted",
    why: "takeOver is the explicit consent of a person",
    given: observation({
      echoesNames: true,
      endpoints: [elsewhere],
      resource: resource({ spec: { adoption: { policy: "AdoptOrCreate", takeOver: true } } }),
    }),
    want: { kind: "RecordOwnership", ownership: ownership({ origin: "Adopted" }) },
  },
];

describe("single decisions", () => {
  it.each(rows)("$name", ({ given, want, why }) => {
    expect(planOf(given), why).toMatchObject(want);
  });
});
