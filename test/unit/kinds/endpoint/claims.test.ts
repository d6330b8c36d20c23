/** Tests which endpoint a resource claims, which of two claims comes first, and the message about a claim. */
import { expect, it } from "vitest";
import { type Claim, claimOf, mayClaimAt, ProjectClaims } from "../../../../src/kinds/endpoint/claims.ts";
import { claimedByAnother } from "../../../../src/kinds/endpoint/plan-adoption.ts";
import { ownershipConflict } from "../../../../src/kinds/endpoint/plan-owned.ts";
import { tokenIn } from "../../../../src/resource/identity.ts";
import {
  branch,
  claim,
  endpoint,
  identity,
  intent,
  observation,
  otherBranch,
  otherName,
  ownership,
  resource,
  spec,
  timeAt,
} from "./builders.ts";

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

const self = resource();
const [owner, byToken, byIntent, forBranch, forAdoption] = ["owner", "token", "intent", "branch", "adoption"];
const open = (change: Parameters<typeof intent>[0] = {}) => ({ intent: intent({ token: "theirs", ...change }) });
const wishing = (change: Parameters<typeof spec>[0] = {}) => ({ wanted: { ...spec(change), branchId: branch } });
const adoptingHere = wishing({ adoption: { policy: "AdoptOrCreate" } });
const adopting = (endpointId: string) => wishing({ adoption: { policy: "AdoptOnly", endpointId } });
const younger = { creationTimestamp: timeAt(0) };
const sameAge = { creationTimestamp: self.creationTimestamp };

/** The other resource is older. The endpoint is ep-own-1 of the main branch, without a name. */
it.each<[string, Partial<Claim>, readonly (string | undefined)[], ReturnType<typeof endpoint>?]>([
  ["has no records and asks for nothing", {}, []],
  ["is this resource itself", { uid: self.uid, ownedEndpointId: "ep-own-1", ...open(), ...adoptingHere }, []],
  ["owns it", { ownedEndpointId: "ep-own-1" }, [owner]],
  ["owns another one", { ownedEndpointId: "ep-2" }, []],
  ["is named by its token", {}, [byToken], endpoint({ name: otherName })],
  ["has an open create", open(), [byIntent, forBranch]],
  ["has an open create, and it has another name", open(), [forBranch], endpoint({ name: "by-hand" })],
  ["has an open create, and it was there before", open({ preIds: ["ep-own-1"] }), [forBranch]],
  ["has an open create of a replica", open({ type: "ReadOnly" }), []],
  ["has an open create on another branch", open({ branchId: otherBranch }), []],
  ["asks for the branch", wishing(), [forBranch]],
  ["asks for the branch, and is younger", { ...wishing(), ...younger }, []],
  ["asks for the branch, is as old, and its uid comes first", { ...wishing(), ...sameAge }, [forBranch]],
  ["asks for the branch, is as old, and its uid comes later", { ...wishing(), ...sameAge, uid: "uid-z" }, []],
  ["asks for a replica", wishing({ type: "ReadOnly" }), []],
  ["adopts what the branch has", adoptingHere, [forBranch, forAdoption]],
  ["adopts what the branch has, which is a replica", adoptingHere, [forBranch], endpoint({ type: "ReadOnly" })],
  ["adopts what the branch has, on another branch", adoptingHere, [forBranch], endpoint({ branchId: otherBranch })],
  ["adopts it by its id", adopting("ep-own-1"), [forBranch, forAdoption]],
  ["adopts another one by its id", adopting("ep-2"), [forBranch]],
  ["adopts it, and owns another one", { ...adoptingHere, ownedEndpointId: "ep-2" }, [forBranch]],
])("another resource %s → comes first as %j", (_, change, want, shown = endpoint()) => {
  const claims = new ProjectClaims([claim(change)], identity);
  const found = {
    owner: claims.ownerOf(shown.id, self.uid),
    token: claims.creatorByToken(tokenIn(shown.name) ?? "", self.uid),
    intent: claims.possibleCreatorOf(shown, self.uid),
    branch: claims.rivalForBranch(branch, self),
    adoption: claims.rivalForAdoption(shown, self),
  };
  expect(Object.entries(found).flatMap(([name, rival]) => (rival === undefined ? [] : [name]))).toEqual(want);
});

it("several older resources ask for the branch → the oldest comes first, but an open create before it", () => {
  const [old, older] = [
    claim({ ...wishing(), uid: "uid-1" }),
    claim({ ...wishing(), creationTimestamp: timeAt(-1e9) }),
  ];
  const rivalOf = (...claims: Claim[]) => new ProjectClaims(claims, identity).rivalForBranch(branch, self)?.uid;
  expect(rivalOf(old, older)).toBe(older.uid);
  expect(rivalOf(older, claim({ ...open(), ...younger, uid: "uid-2" }))).toBe("uid-2");
});
