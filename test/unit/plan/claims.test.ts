import { describe, expect, it } from "vitest";
import { claimsOf } from "../../../src/plan/claims.ts";
import { ownershipToken } from "../../../src/plan/ownership-token.ts";
import {
  condition,
  identity,
  intent,
  otherToken,
  otherUid,
  ownership,
  type ResourceChange,
  resource,
  timeAt,
  uid,
} from "./builders.ts";

const billing = { key: { namespace: "shop", name: "billing" }, uid: otherUid };

describe("what another resource claims", () => {
  it("ourselves → nothing", () => {
    expect(claimsOf([resource()], uid, identity.clusterId)).toEqual([]);
  });

  it("one that asks → its wish", () => {
    const other = resource({ ...billing, spec: { adoption: { policy: "AdoptOnly", endpointId: "ep-x-1" } } });
    expect(claimsOf([other], uid, identity.clusterId)).toEqual([
      {
        key: billing.key,
        uid: otherUid,
        creationTimestamp: timeAt(-7_200_000),
        ownedEndpointId: undefined,
        openIntent: undefined,
        isStalled: false,
        wish: { branchId: "br-main-1", type: "ReadWrite", adopts: true, adoptsEndpointId: "ep-x-1" },
      },
    ]);
  });

  it.each<readonly [string, ResourceChange]>([
    ["paused", { isPaused: true }],
    ["being deleted", { isDeleting: true }],
    ["stalled", { status: { conditions: [condition({ type: "Stalled", status: "True" })] } }],
    ["broken", { brokenSpec: {} }],
  ])("one that is %s → asks for nothing", (_state, change) => {
    const [claim] = claimsOf([resource({ ...billing, ...change })], uid, identity.clusterId);
    expect(claim?.wish).toBeUndefined();
  });

  it.each([
    ["paused", { isPaused: true }],
    ["being deleted", { isDeleting: true }],
    ["broken", { brokenSpec: {} }],
  ] as const)("an owner that is %s → owns all the same", (_state, change) => {
    const status = {
      ownership: ownership({ resourceUid: otherUid, endpointId: "ep-b-1" }),
      createIntent: intent({ token: otherToken }),
    };
    const [claim] = claimsOf([resource({ ...billing, ...change, status })], uid, identity.clusterId);
    expect(claim).toMatchObject({ ownedEndpointId: "ep-b-1", openIntent: { attempt: "attempt-1" } });
  });

  it("a copy with records that were made for another uid → owns nothing and creates nothing", () => {
    const status = {
      ownership: ownership({ resourceUid: "uid-before-the-restore" }),
      createIntent: intent({ token: ownershipToken(identity.clusterId, "uid-before-the-restore") }),
    };
    const [claim] = claimsOf([resource({ ...billing, status })], uid, identity.clusterId);
    expect(claim).toMatchObject({ ownedEndpointId: undefined, openIntent: undefined });
  });
});
