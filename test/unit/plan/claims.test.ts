import { describe, expect, it } from "vitest";
import { claimsOf } from "../../../src/plan/claims.ts";
import { condition, intent, otherUid, ownership, type ResourceChange, resource, timeAt, uid } from "./builders.ts";

const billing = { key: { namespace: "shop", name: "billing" }, uid: otherUid };

describe("what another resource claims", () => {
  it("ourselves → nothing", () => {
    expect(claimsOf([resource()], uid)).toEqual([]);
  });

  it("one that asks → its wish", () => {
    const other = resource({ ...billing, spec: { adoption: { policy: "AdoptOnly", endpointId: "ep-x-1" } } });
    expect(claimsOf([other], uid)).toEqual([
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
    const [claim] = claimsOf([resource({ ...billing, ...change })], uid);
    expect(claim?.wish).toBeUndefined();
  });

  it.each([
    ["paused", { isPaused: true }],
    ["being deleted", { isDeleting: true }],
    ["broken", { brokenSpec: {} }],
  ] as const)("an owner that is %s → owns all the same", (_state, change) => {
    const status = { ownership: ownership({ resourceUid: otherUid, endpointId: "ep-b-1" }), createIntent: intent() };
    const [claim] = claimsOf([resource({ ...billing, ...change, status })], uid);
    expect(claim).toMatchObject({ ownedEndpointId: "ep-b-1", openIntent: { attempt: "attempt-1" } });
  });

  it("a copy with a record that was made for another uid → owns nothing", () => {
    const status = { ownership: ownership({ resourceUid: "uid-before-the-restore" }) };
    const [claim] = claimsOf([resource({ ...billing, status })], uid);
    expect(claim?.ownedEndpointId).toBeUndefined();
  });
});
