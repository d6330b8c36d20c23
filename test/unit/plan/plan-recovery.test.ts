import { describe } from "vitest";
import type { EndpointType, ObservedEndpoint } from "../../../src/domain/endpoint.ts";
import type { PostState } from "../../../src/plan/observation.ts";
import {
  claim,
  creating,
  endpoint,
  intentMemory,
  monotonicMs,
  otherBranch,
  ownName,
  policy,
  timeAt,
} from "./builders.ts";
import { itPlans, type PlanCase } from "./check-plan.ts";

/** Endpoints that appeared since the intent. */
function appeared(type: EndpointType, change: Partial<ObservedEndpoint> = {}): ObservedEndpoint {
  return endpoint({ id: "ep-new-2", type, createdTime: timeAt(-500), ...change });
}

const settled = { asOfMs: monotonicMs + policy.createSettleMs };
const staleIntent = { time: timeAt(-120_000) };
const clean: readonly PostState[] = ["NoneSent", "AllDefinite"];
const types: readonly EndpointType[] = ["ReadWrite", "ReadOnly"];

describe.each(types)("open create of a %s that cannot have taken effect", (type) => {
  itPlans(
    clean.flatMap((posts): PlanCase[] => {
      const memory = intentMemory({ posts });
      return [
        {
          name: `${posts}, intent current → sends the create`,
          why: "nothing can be on its way, so nothing has to be waited for",
          given: creating({ type }, { memory }),
          want: {
            kind: "CreateEndpoint",
            intent: { attempt: "attempt-1" },
            creation: { branchId: "br-main-1", type, name: ownName },
          },
        },
        {
          name: `${posts}, endpoint of another name there → ${type === "ReadOnly" ? "records what is there first" : "closes the intent"}`,
          why: "what was there before a post must be in the intent before the post",
          given: creating(
            { type },
            { memory, endpoints: [appeared(type, { name: "made-by-hand" })], echoesNames: true },
          ),
          want:
            type === "ReadOnly" ? { kind: "RecordIntent", intent: { preIds: ["ep-new-2"] } } : { kind: "CloseIntent" },
        },
        {
          name: `${posts}, intent old → records a new one`,
          why: "the intent's time bounds when its post may land",
          given: creating({ type, ...staleIntent }, { memory }),
          want: { kind: "RecordIntent", intent: { time: timeAt(0) } },
        },
        {
          name: `${posts}, managed fields changed → records a new one`,
          why: "the stored intent names what is sent",
          given: creating({ type }, { memory, resource: { spec: { type, disabled: true } } }),
          want: { kind: "RecordIntent" },
        },
        {
          name: `${posts}, branch changed → closes it`,
          why: "the create would land where nobody wants it any more",
          given: creating({ type }, { memory, resource: { spec: { type, branchId: otherBranch } } }),
          want: { kind: "CloseIntent", cause: "NothingLanded" },
        },
        {
          name: `${posts}, being deleted → closes it`,
          why: "nothing was made",
          given: creating({ type }, { memory, resource: { spec: { type }, isDeleting: true } }),
          want: { kind: "CloseIntent", cause: "NothingLanded" },
        },
        {
          name: `${posts}, not our turn → waits`,
          why: "two open creates in one place could not tell their endpoints apart",
          given: creating({ type }, { memory, isCreateTurn: false }),
          want: { kind: "Wait", reason: "WaitingForProject" },
        },
        {
          name: `${posts}, an endpoint with our token there → takes it`,
          why: "an earlier create, given up by a person, landed late: a second one must not follow",
          given: creating({ type, preIds: ["ep-new-2"] }, { memory, endpoints: [appeared(type, { name: ownName })] }),
          want: { kind: "RecordOwnership", ownership: { endpointId: "ep-new-2", origin: "Created" } },
        },
      ];
    }),
  );
});

describe.each(types)("unresolved create of a %s", (type) => {
  const change = { resource: { spec: { type } } };
  itPlans([
    ...[false, true].map(
      (isDeleting): PlanCase => ({
        name: `our token on an endpoint${isDeleting ? ", being deleted" : ""} → it is ours`,
        why: "the token is proof",
        given: creating(
          { type },
          {
            resource: { spec: { type }, isDeleting },
            endpoints: [appeared(type, { name: ownName })],
            echoesNames: true,
          },
        ),
        want: { kind: "RecordOwnership", ownership: { endpointId: "ep-new-2", origin: "Created" } },
      }),
    ),
    {
      name: "our token on two endpoints → the oldest is ours",
      why: "which of two is kept must not depend on the order of a list",
      given: creating(
        { type },
        {
          ...change,
          endpoints: [
            appeared(type, { id: "ep-b-2", name: ownName, createdTime: timeAt(-100) }),
            appeared(type, { id: "ep-a-1", name: ownName, createdTime: timeAt(-200) }),
          ],
        },
      ),
      want: { kind: "RecordOwnership", ownership: { endpointId: "ep-a-1", origin: "Created" } },
    },
    {
      name: "our token on an endpoint that was moved to another branch → it is ours",
      why: "somebody moved it before its answer was found; it does not stop being ours",
      given: creating({ type }, { ...change, endpoints: [appeared(type, { name: ownName, branchId: otherBranch })] }),
      want: { kind: "RecordOwnership", ownership: { endpointId: "ep-new-2" } },
    },
    {
      name: "an intent this process never met → waits the whole settle time",
      why: "without memory nothing is known of what was posted when",
      given: creating(
        { type },
        {
          resource: { spec: { type, branchId: otherBranch } },
          memory: { ...intentMemory(), intent: undefined },
        },
      ),
      want: { kind: "Wait", reason: "CreateUnresolved", requeueAfterMs: policy.createSettleMs },
    },
    {
      name: "unresolved posts of another attempt remembered as clean → are not believed",
      why: "what is known of one intent says nothing of another",
      given: creating(
        { type },
        {
          resource: { spec: { type, branchId: otherBranch } },
          memory: intentMemory({ attempt: "attempt-0", posts: "NoneSent" }),
        },
      ),
      want: { kind: "Wait", reason: "CreateUnresolved" },
    },
  ]);
});

describe("unresolved create of a ReadWrite", () => {
  itPlans([
    {
      name: "none there, before settle → posts again at once",
      why: "the service refuses a second read-write endpoint, so waiting gains nothing",
      given: creating(),
      want: { kind: "CreateEndpoint", intent: { attempt: "attempt-1" } },
    },
    {
      name: "none there, intent old → renews it before it posts",
      why: "the time in the intent bounds when its post may land",
      given: creating(staleIntent),
      want: { kind: "RecordIntent", intent: { attempt: "attempt-1", time: timeAt(0) } },
    },
    {
      name: "none there, not our turn → waits",
      why: "one unresolved create per place",
      given: creating({}, { isCreateTurn: false }),
      want: { kind: "Wait", reason: "WaitingForProject" },
    },
    {
      name: "one suspect, created since the intent → Presumed",
      why: "nobody else's create could have come between",
      given: creating({}, { endpoints: [appeared("ReadWrite")] }),
      want: { kind: "RecordOwnership", ownership: { endpointId: "ep-new-2", origin: "Presumed" } },
    },
    {
      name: "one suspect, created since the intent, being deleted → Presumed",
      why: "who owns it decides what deletion does with it",
      given: creating({}, { endpoints: [appeared("ReadWrite")], resource: { isDeleting: true } }),
      want: { kind: "RecordOwnership", ownership: { origin: "Presumed" } },
    },
    {
      name: "one suspect, created since the intent, branch changed in spec → Presumed",
      why: "recovery works from the intent, never from the present spec",
      given: creating({}, { endpoints: [appeared("ReadWrite")], resource: { spec: { branchId: otherBranch } } }),
      want: { kind: "RecordOwnership", ownership: { origin: "Presumed" } },
    },
    {
      name: "nameless endpoint from before the intent, moved here meanwhile → not ours",
      why: "a post of ours cannot have made what is older than the intent",
      given: creating({}, { ...settled, endpoints: [appeared("ReadWrite", { createdTime: timeAt(-3_600_000) })] }),
      want: { kind: "CloseIntent", cause: "TakenByAnother" },
    },
    {
      name: "one suspect, created after any post of ours could land → not ours",
      why: "late is bounded by the settle time",
      given: creating(
        {},
        {
          ...settled,
          nowMs: Date.parse(timeAt(900_000)),
          endpoints: [appeared("ReadWrite", { createdTime: timeAt(800_000) })],
        },
      ),
      want: { kind: "CloseIntent", cause: "TakenByAnother" },
    },
    {
      name: "two suspects, before settle → waits",
      why: "never guess",
      given: creating({}, { endpoints: [appeared("ReadWrite"), appeared("ReadWrite", { id: "ep-new-3" })] }),
      want: { kind: "Wait", reason: "CreateUnresolved" },
    },
    {
      name: "endpoint of another name, before settle → waits",
      why: "a late post may still land and must not outlive the intent",
      given: creating({}, { endpoints: [appeared("ReadWrite", { name: "made-by-hand" })], echoesNames: true }),
      want: { kind: "Wait", reason: "CreateUnresolved", requeueAfterMs: policy.createSettleMs - 1_000 },
    },
    {
      name: "endpoint of another name, after settle → closes the intent",
      why: "the place is taken, and nothing of ours is on its way",
      given: creating(
        {},
        { ...settled, endpoints: [appeared("ReadWrite", { name: "made-by-hand" })], echoesNames: true },
      ),
      want: { kind: "CloseIntent", cause: "TakenByAnother" },
    },
    {
      name: "nameless endpoint where names are echoed → not ours",
      why: "ours would carry its name",
      given: creating({}, { ...settled, endpoints: [appeared("ReadWrite")], echoesNames: true }),
      want: { kind: "CloseIntent", cause: "TakenByAnother" },
    },
    {
      name: "endpoint that was there before → not ours, posts again",
      why: "it was in the list that the intent was made from",
      given: creating({ preIds: ["ep-new-2"] }, { endpoints: [appeared("ReadWrite")] }),
      want: { kind: "CreateEndpoint" },
    },
    {
      name: "endpoint that another resource owns → not ours, posts again",
      why: "an endpoint has at most one owner",
      given: creating({}, { endpoints: [appeared("ReadWrite")], claims: [claim({ ownedEndpointId: "ep-new-2" })] }),
      want: { kind: "CreateEndpoint" },
    },
    {
      name: "a ReadOnly of the same branch → is no candidate",
      why: "it is of another type",
      given: creating({}, { endpoints: [appeared("ReadOnly")] }),
      want: { kind: "CreateEndpoint" },
    },
    ...(["deleted", "moved"] as const).flatMap((state): PlanCase[] => {
      const resource = state === "deleted" ? { isDeleting: true } : { spec: { branchId: otherBranch } };
      return [
        {
          name: `none there, ${state}, before settle → waits`,
          why: "closing the intent now would leave a late landing without an owner",
          given: creating({}, { resource }),
          want: { kind: "Wait", reason: "CreateUnresolved" },
        },
        {
          name: `none there, ${state}, after settle → closes the intent`,
          why: "a complete list begun after the settle time is proof",
          given: creating({}, { ...settled, resource }),
          want: { kind: "CloseIntent", cause: "NothingLanded" },
        },
      ];
    }),
  ]);
});
