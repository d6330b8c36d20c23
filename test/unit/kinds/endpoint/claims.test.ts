/** Tests which endpoint a resource claims, also one of another control plane, and the message about a claim. */
import { expect, it } from "vitest";
import { claimOf, mayClaimAt } from "../../../../src/kinds/endpoint/claims.ts";
import { claimedByAnother } from "../../../../src/kinds/endpoint/plan-adoption.ts";
import { ownershipConflict } from "../../../../src/kinds/endpoint/plan-owned.ts";
import { claim, identity, intent, observation, ownership, resource } from "./builders.ts";

const { serviceUrl } = identity;
const another = "https://another.example/api/v2";

it.each([
  ["an endpoint at this URL", resource({ status: { ownership: ownership() } }), true],
  ["an endpoint at another URL", resource({ status: { ownership: ownership({ serviceUrl: another }) } }), false],
  ["an open create at this URL", resource({ status: { createIntent: intent() } }), true],
  ["an open create at another URL", resource({ status: { createIntent: intent({ serviceUrl: another }) } }), false],
  ["no records, because status was lost", resource(), true],
  ["a record that cannot be parsed", resource({ isOwnershipReadable: false }), true],
])("%s → claims here: %#", (_, given, want) => {
  expect(mayClaimAt(serviceUrl, given)).toBe(want);
});

it.each([
  ["its own record", resource({ status: { ownership: ownership() } }), "ep-own-1"],
  [
    "its own record of another URL",
    resource({ status: { ownership: ownership({ serviceUrl: another }) } }),
    "ep-own-1",
  ],
  ["a record that cannot be parsed", resource({ claimedId: "ep-own-1", isOwnershipReadable: false }), "ep-own-1"],
  ["the record of another uid", resource({ status: { ownership: ownership({ resourceUid: "u" }) } }), undefined],
  ["the record of another cluster", resource({ status: { ownership: ownership({ clusterId: "c" }) } }), undefined],
])("%s → claims the endpoint: %#", (_, given, want) => {
  expect(claimOf(given, identity).ownedEndpointId).toBe(want);
});

it.each([
  ["in the same namespace", "shop", "ComputeEndpoint billing"],
  ["in another namespace", "crm", "a ComputeEndpoint of another namespace"],
])(
  "another resource %s claims the endpoint → the message says no more than the reader may know",
  (_, namespace, want) => {
    const rival = claim({ key: { namespace, name: "billing" }, ownedEndpointId: "ep-own-1" });
    const seen = observation({ claims: [rival] });
    const plans = [claimedByAnother(seen, rival, "the endpoint"), ownershipConflict(seen, "ep-own-1")];
    for (const plan of plans) {
      expect(plan).toMatchObject({ kind: "Stall", message: expect.stringContaining(want) });
      expect(JSON.stringify(plan).includes("billing") || JSON.stringify(plan).includes("crm")).toBe(
        namespace === "shop",
      );
    }
  },
);
