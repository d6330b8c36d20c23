import { describe, expect } from "vitest";
import { claim, endpoint, intent, otherBranch, otherName, owned, ownership, ownName, timeAt } from "./builders.ts";
import { itPlans, type PlanCase } from "./check-plan.ts";

const size = { compute: { minUnits: 2, maxUnits: 4 } };

describe("endpoint gone", () => {
  itPlans([
    ...(["Created", "Presumed"] as const).map(
      (origin): PlanCase => ({
        name: `${origin} → forgets it, to create another`,
        why: "what we made we make again",
        given: owned({}, { status: { ownership: ownership({ origin }) }, endpoints: [] }),
        want: { kind: "ForgetEndpoint", endpointId: "ep-own-1" },
      }),
    ),
    {
      name: "Adopted → Stalled EndpointGone",
      why: "what was lent to us is not ours to replace",
      given: owned({}, { status: { ownership: ownership({ origin: "Adopted" }) }, endpoints: [] }),
      want: { kind: "Stall", reason: "EndpointGone" },
    },
    {
      name: "list and read by id disagree → waits",
      why: "one of the two is no proof",
      given: owned({}, { remote: { kind: "Unproven" } }),
      want: { kind: "Wait", reason: "Retrying" },
    },
  ]);
});

describe("move", () => {
  const away = { branchId: otherBranch };
  const occupant = endpoint({ id: "ep-there-2", branchId: otherBranch });
  const claimed = { kind: "Stall", reason: "ClaimedByAnother" } as const;
  const wish = { branchId: otherBranch, type: "ReadWrite", adopts: false, adoptsEndpointId: undefined } as const;
  itPlans([
    {
      name: "branch changed, target free → moves it",
      why: "the endpoint follows spec",
      given: owned(away),
      want: { kind: "MoveEndpoint", endpointId: "ep-own-1", branchId: otherBranch },
    },
    {
      name: "branch and size changed → moves first",
      why: "one plan is one effect",
      given: owned({ ...away, ...size }),
      want: { kind: "MoveEndpoint" },
    },
    {
      name: "target taken by an endpoint nobody owns → Stalled BranchOccupied",
      why: "a branch has at most one read-write endpoint",
      given: owned(away, { endpoints: [endpoint(), occupant] }),
      want: { kind: "Stall", reason: "BranchOccupied", message: expect.stringContaining("ep-there-2") },
    },
    {
      name: "target taken by another resource's endpoint → Stalled ClaimedByAnother",
      why: "it is looked at again when that one goes",
      given: owned(away, { endpoints: [endpoint(), occupant], claims: [claim({ ownedEndpointId: "ep-there-2" })] }),
      want: claimed,
    },
    {
      name: "target taken by what another's open create may have made → Stalled ClaimedByAnother",
      why: "an open intent comes first",
      given: owned(away, {
        endpoints: [endpoint(), occupant],
        claims: [claim({ openIntent: intent({ branchId: otherBranch }) })],
      }),
      want: claimed,
    },
    {
      name: "target free, another's create open there → Stalled ClaimedByAnother",
      why: "a move claims its target",
      given: owned(away, { claims: [claim({ openIntent: intent({ branchId: otherBranch }) })] }),
      want: claimed,
    },
    {
      name: "target free, an older resource asks for it → Stalled ClaimedByAnother",
      why: "the oldest comes first",
      given: owned(away, { claims: [claim({ wish })] }),
      want: claimed,
    },
    {
      name: "target free, a younger resource asks for it → moves",
      why: "the oldest comes first",
      given: owned(away, { claims: [claim({ creationTimestamp: timeAt(-1), wish })] }),
      want: { kind: "MoveEndpoint" },
    },
    {
      name: "a ReadOnly to a branch with a read-write endpoint → moves it",
      why: "a branch has room for any number of replicas; whether it may move there the service says",
      given: owned({ ...away, type: "ReadOnly" }, { endpoints: [endpoint({ type: "ReadOnly" }), occupant] }),
      want: { kind: "MoveEndpoint" },
    },
  ]);
});

describe("a second endpoint with our token", () => {
  itPlans([
    {
      name: "owned one there → deletes the second",
      why: "at most one live endpoint per resource",
      given: owned(
        { disabled: true },
        { endpoints: [endpoint({ name: ownName }), endpoint({ id: "ep-twin-2", name: ownName })] },
      ),
      want: { kind: "DeleteEndpoint", endpointId: "ep-twin-2", cause: "Duplicate" },
    },
    {
      name: "which another resource owns → is left to it",
      why: "an endpoint has at most one owner",
      given: owned(
        {},
        {
          endpoints: [endpoint({ name: ownName }), endpoint({ id: "ep-twin-2", name: ownName, branchId: otherBranch })],
          claims: [claim({ ownedEndpointId: "ep-twin-2" })],
        },
      ),
      want: { kind: "Settled" },
    },
    {
      name: "with another token → is not touched",
      why: "it is not ours",
      given: owned({}, { endpoints: [endpoint(), endpoint({ id: "ep-twin-2", name: otherName })] }),
      want: { kind: "Settled" },
    },
  ]);
});
