import { beforeEach, describe, expect, it } from "vitest";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { Ledger, nextFailure } from "../../../src/reconcile/ledger.ts";
import { endpoint } from "../plan/builders.ts";

const key = { namespace: "shop", name: "orders" };
const answer = { endpoint: endpoint({ id: "ep-new-2" }), operations: [], hash: "h", attempt: "one" };
let ledger: Ledger;
const posts = (uid = "u") => ledger.memoryOf(uid).intent?.posts;
const seen = (attempt: string, nowMs = 0) => ledger.intentSeen(key, "u", { attempt, nowMs });
const recording = (attempt: string, nowMs = 0) => ledger.intentRecording(key, "u", { attempt, nowMs });

beforeEach(() => {
  ledger = new Ledger();
});

describe("an open create", () => {
  it("met in status by a new process → may have been posted", () => {
    seen("one", 7);
    expect(ledger.memoryOf("u").intent).toEqual({
      attempt: "one",
      posts: "Unresolved",
      firstSeenMs: 7,
      storedVersion: undefined,
      lastPostMs: undefined,
    });
    seen("one", 99);
    expect(ledger.memoryOf("u").intent?.firstSeenMs).toBe(7);
  });

  it("recorded by this process → nothing was posted, also when it is met in status", () => {
    recording("one");
    seen("one");
    expect(posts()).toBe("NoneSent");
  });

  it("renewed under the same attempt → what was posted stays known", () => {
    seen("one", 7);
    recording("one", 99);
    expect(ledger.memoryOf("u").intent).toMatchObject({ posts: "Unresolved", firstSeenMs: 7 });
  });

  it("another attempt in status than the one recorded → may have been posted", () => {
    recording("two");
    seen("one");
    expect(posts()).toBe("Unresolved");
  });

  it("a post is under way → may land, until it is refused", () => {
    recording("one");
    const before = ledger.postSending("u", 5);
    expect([before, posts(), ledger.memoryOf("u").intent?.lastPostMs]).toEqual(["NoneSent", "Unresolved", 5]);
    ledger.postRefused("u", before, 6);
    expect(posts()).toBe("AllDefinite");
  });

  it("two posts definite → definite; one unresolved among them → unresolved for good", () => {
    recording("one");
    ledger.postRefused("u", ledger.postSending("u", 1), 2);
    ledger.postRefused("u", ledger.postSending("u", 3), 4);
    expect(posts()).toBe("AllDefinite");
    ledger.postSending("u", 5);
    ledger.postRefused("u", ledger.postSending("u", 6), 7);
    expect(posts()).toBe("Unresolved");
  });

  it("a post under an intent nobody knows → unresolved", () => {
    expect(ledger.postSending("nobody", 1)).toBe("Unresolved");
    expect(ledger.postRefused("nobody", "Unresolved", 1)).toBe("Unresolved");
    expect(ledger.memoryOf("nobody").intent).toBeUndefined();
  });
});

describe("an answered create", () => {
  beforeEach(() => {
    recording("one");
    ledger.postAnswered("u", answer);
  });

  it("not stored → is known, and taken by nobody else", () => {
    expect(ledger.memoryOf("u").answeredCreate).toEqual(answer);
    expect(ledger.unstoredEndpointOf("u")).toBe("ep-new-2");
  });

  it("stored → is forgotten with its intent", () => {
    ledger.createStored("u");
    expect(ledger.memoryOf("u")).toMatchObject({ answeredCreate: undefined, intent: undefined });
    expect(ledger.unstoredEndpointOf("u")).toBeUndefined();
  });

  it("stands to be recorded, or deleted if its resource is gone, until it is stored", () => {
    expect(ledger.unrecorded()).toEqual([{ uid: "u", key, projectId: endpoint().projectId, endpointId: "ep-new-2" }]);
    ledger.createStored("u");
    expect(ledger.unrecorded()).toEqual([]);
  });

  it("dropped → nothing is known any more", () => {
    ledger.drop("u");
    expect(ledger.uidsUnder(key)).toEqual([]);
    expect(ledger.memoryOf("u").answeredCreate).toBeUndefined();
    ledger.drop("u");
  });
});

describe("ownership on its way into status", () => {
  it("is known until it is stored or given up", () => {
    ledger.ownershipRecording(key, "u", "ep-a-1");
    expect(ledger.unstoredEndpointOf("u")).toBe("ep-a-1");
    ledger.ownershipNotRecording("u");
    expect(ledger.unstoredEndpointOf("u")).toBeUndefined();
    ledger.ownershipRecording(key, "u", "ep-a-1");
    ledger.createStored("u");
    expect(ledger.unstoredEndpointOf("u")).toBeUndefined();
    expect(ledger.unstoredEndpointOf("nobody")).toBeUndefined();
  });

  it("a write ends meanwhile → stays known", () => {
    ledger.ownershipRecording(key, "u", "ep-a-1");
    ledger.writeEnded(key, "u", { nowMs: 1, isDelete: false, operationIds: [] });
    expect(ledger.unstoredEndpointOf("u")).toBe("ep-a-1");
  });
});

describe("writes", () => {
  it("end → the last one and its operations are known; only a DELETE counts as one", () => {
    ledger.writeEnded(key, "u", { nowMs: 3, isDelete: true, operationIds: ["a"] });
    ledger.writeEnded(key, "u", { nowMs: 5, isDelete: false, operationIds: ["b"] });
    expect(ledger.memoryOf("u")).toMatchObject({ lastWriteMs: 5, lastDeleteMs: 3, ownOperationIds: ["a", "b"] });
  });

  it("many → the newest operations are kept", () => {
    for (let n = 0; n < 200; n += 1) {
      ledger.writeEnded(key, "u", { nowMs: n, isDelete: false, operationIds: [`o${n}`] });
    }
    const { ownOperationIds } = ledger.memoryOf("u");
    expect([ownOperationIds.length, ownOperationIds.at(-1)]).toEqual([50, "o199"]);
  });
});

describe("a row of failures", () => {
  const error = (reason: "Rejected" | "TimedOut") => new ControlPlaneError(reason, "no", { effect: "Unknown" });
  const first = {
    ...nextFailure(undefined, { error: error("Rejected"), generation: 1, nowMs: 10 }),
    retryAtMs: 0,
    holdsBack: true,
  };

  it("goes on for the same reason and generation", () => {
    expect(nextFailure(first, { error: error("Rejected"), generation: 1, nowMs: 30 })).toMatchObject({
      sinceMs: 10,
      count: 2,
    });
  });

  it("another reason, or an edit → a new row", () => {
    expect(nextFailure(first, { error: error("TimedOut"), generation: 1, nowMs: 30 })).toMatchObject({
      sinceMs: 30,
      count: 1,
    });
    expect(nextFailure(first, { error: error("Rejected"), generation: 2, nowMs: 30 })).toMatchObject({
      sinceMs: 30,
      count: 1,
    });
  });

  it("something worked → ends", () => {
    ledger.failed(key, "u", first);
    ledger.worked("u");
    expect(ledger.memoryOf("u").failure).toBeUndefined();
    ledger.worked("nobody");
  });
});
