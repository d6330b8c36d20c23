import { describe } from "vitest";
import type { EndpointType, ObservedEndpoint } from "../../../src/domain/endpoint.ts";
import { annotations } from "../../../src/resource/names.ts";
import {
  claim,
  creating,
  endpoint,
  intentMemory,
  monotonicMs,
  otherBranch,
  otherName,
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

describe("unresolved create of a ReadOnly", () => {
  const type = "ReadOnly";
  const change = { resource: { spec: { type } } } as const;
  itPlans([
    {
      name: "none there, before settle → waits",
      why: "a second replica would be a leak, and time alone proves nothing",
      given: creating({ type }),
      want: { kind: "Wait", reason: "CreateUnresolved", requeueAfterMs: policy.createSettleMs - 1_000 },
    },
    {
      name: "none there, one millisecond before settle → waits",
      why: "the list must have begun after the settle time",
      given: creating({ type }, { asOfMs: monotonicMs - 1_000 + policy.createSettleMs - 1 }),
      want: { kind: "Wait", reason: "CreateUnresolved", requeueAfterMs: 1 },
    },
    {
      name: "none there, after settle → posts again",
      why: "nothing of ours can land any more",
      given: creating({ type }, settled),
      want: { kind: "CreateEndpoint" },
    },
    {
      name: "none there, after settle, intent old → renews it first",
      why: "the time in the intent bounds when its post may land",
      given: creating({ type, ...staleIntent }, settled),
      want: { kind: "RecordIntent", intent: { attempt: "attempt-1", time: timeAt(0) } },
    },
    {
      name: "none there, settled since first seen but not since the last post → waits",
      why: "the last post may be the late one",
      given: creating(
        { type },
        { ...settled, memory: intentMemory({ lastPostMs: monotonicMs }), asOfMs: settled.asOfMs - 1 },
      ),
      want: { kind: "Wait", reason: "CreateUnresolved", requeueAfterMs: 1 },
    },
    {
      name: "none there, after settle, not our turn → waits",
      why: "one unresolved create per place",
      given: creating({ type }, { ...settled, isCreateTurn: false }),
      want: { kind: "Wait", reason: "WaitingForProject" },
    },
    {
      name: "none there, being deleted, before settle → waits",
      why: "the finalizer must outlive a late landing",
      given: creating({ type }, { resource: { spec: { type }, isDeleting: true } }),
      want: { kind: "Wait", reason: "CreateUnresolved" },
    },
    {
      name: "none there, being deleted, after settle → closes the intent",
      why: "nothing was made and nothing is on its way",
      given: creating({ type }, { ...settled, resource: { spec: { type }, isDeleting: true } }),
      want: { kind: "CloseIntent", cause: "NothingLanded" },
    },
    {
      name: "none there, branch changed, after settle → closes the intent",
      why: "the place is not wanted any more",
      given: creating({ type }, { ...settled, resource: { spec: { type, branchId: otherBranch } } }),
      want: { kind: "CloseIntent", cause: "NothingLanded" },
    },
    ...[change, { ...change, ...settled }].map(
      (when): PlanCase => ({
        name: `a suspect, ${"asOfMs" in when ? "after" : "before"} settle → Stalled CreateAmbiguous`,
        why: "never guess: it may be anybody's",
        given: creating({ type }, { ...when, endpoints: [appeared(type)] }),
        want: {
          kind: "Stall",
          reason: "CreateAmbiguous",
          suspectIds: ["ep-new-2"],
          message: `The answer to a create was lost and ep-new-2 may be what it made. Annotate with ${annotations.resolveCreate}=adopt=<endpoint id> if one of them is, or ${annotations.resolveCreate}=abandon=attempt-1 if none is.`,
        },
      }),
    ),
    {
      name: "a suspect, being deleted → Stalled, and the remedy without the service is named",
      why: "a deletion ends, or says how",
      given: creating({ type }, { resource: { spec: { type }, isDeleting: true }, endpoints: [appeared(type)] }),
      want: { kind: "Stall", reason: "CreateAmbiguous" },
    },
    {
      name: "a frozen suspect, names echoed by now → stays Stalled",
      why: "what was made before names were echoed carries none",
      given: creating(
        { type, suspectIds: ["ep-new-2"] },
        { ...change, ...settled, endpoints: [appeared(type)], echoesNames: true },
      ),
      want: { kind: "Stall", reason: "CreateAmbiguous", suspectIds: ["ep-new-2"] },
    },
    {
      name: "a frozen suspect, and another that appeared later → the frozen one alone is named",
      why: "what a person is asked about must not change under their hands, and a replica made later is no answer",
      given: creating(
        { type, suspectIds: ["ep-new-2"] },
        { ...change, ...settled, endpoints: [appeared(type), appeared(type, { id: "ep-later-3" })] },
      ),
      want: { kind: "Stall", reason: "CreateAmbiguous", suspectIds: ["ep-new-2"] },
    },
    {
      name: "a frozen suspect, names echoed by now, and one with another name → the frozen one alone is named",
      why: "the newcomer is certainly somebody else's",
      given: creating(
        { type, suspectIds: ["ep-new-2"] },
        {
          ...{ ...change, ...settled, echoesNames: true },
          endpoints: [appeared(type), appeared(type, { id: "ep-later-3", name: otherName })],
        },
      ),
      want: { kind: "Stall", reason: "CreateAmbiguous", suspectIds: ["ep-new-2"] },
    },
    {
      name: "two frozen suspects of which one is gone → the other one stays",
      why: "each is frozen by itself",
      given: creating(
        { type, suspectIds: ["ep-gone-1", "ep-new-2"] },
        { ...change, ...settled, endpoints: [appeared(type), appeared(type, { id: "ep-later-3" })] },
      ),
      want: { kind: "Stall", reason: "CreateAmbiguous", suspectIds: ["ep-new-2"] },
    },
    {
      name: "the frozen suspects are gone, another appeared later → that one is a suspect now",
      why: "never guess: a late landing may be it",
      given: creating(
        { type, suspectIds: ["ep-new-2"] },
        { ...change, ...settled, endpoints: [appeared(type, { id: "ep-later-3" })] },
      ),
      want: { kind: "Stall", reason: "CreateAmbiguous", suspectIds: ["ep-later-3"] },
    },
    {
      name: "a frozen suspect that is gone, after settle → posts again",
      why: "it cannot have been kept for us",
      given: creating({ type, suspectIds: ["ep-new-2"] }, { ...change, ...settled }),
      want: { kind: "CreateEndpoint" },
    },
    {
      name: "a frozen suspect that another resource owns by now, after settle → posts again",
      why: "an endpoint has one owner: adopting it would be refused, so naming it is no remedy",
      given: creating(
        { type, suspectIds: ["ep-new-2"] },
        { ...change, ...settled, endpoints: [appeared(type)], claims: [claim({ ownedEndpointId: "ep-new-2" })] },
      ),
      want: { kind: "CreateEndpoint" },
    },
    {
      name: "endpoint of another name, after settle → not ours, posts again",
      why: "ours would carry our name",
      given: creating(
        { type },
        { ...change, ...settled, endpoints: [appeared(type, { name: otherName })], echoesNames: true },
      ),
      want: { kind: "CreateEndpoint" },
    },
    {
      name: "endpoint that was there before, after settle → not ours, posts again",
      why: "it was in the list that the intent was made from",
      given: creating({ type, preIds: ["ep-new-2"] }, { ...change, ...settled, endpoints: [appeared(type)] }),
      want: { kind: "CreateEndpoint" },
    },
    {
      name: "a replica of another branch → is no suspect",
      why: "the create was for one branch",
      given: creating({ type }, { ...change, ...settled, endpoints: [appeared(type, { branchId: otherBranch })] }),
      want: { kind: "CreateEndpoint" },
    },
  ]);
});

describe("a person's answer", () => {
  const type = "ReadOnly";
  const answered = (answer: string) => ({
    resource: { spec: { type }, annotations: { [annotations.resolveCreate]: answer } } as const,
  });
  const suspect = appeared(type);
  const ambiguous = { kind: "Stall", reason: "CreateAmbiguous" } as const;
  itPlans([
    {
      name: "adopt=<suspect> → Adopted",
      why: "a person knows what nobody else can",
      given: creating({ type }, { ...answered("adopt=ep-new-2"), endpoints: [suspect] }),
      want: { kind: "RecordOwnership", ownership: { endpointId: "ep-new-2", origin: "Adopted" } },
    },
    {
      name: "abandon=<this attempt> → closes the intent",
      why: "none of them is ours, says a person",
      given: creating({ type }, { ...answered("abandon=attempt-1"), endpoints: [suspect] }),
      want: { kind: "CloseIntent", cause: "Abandoned" },
    },
    {
      name: "abandon=<this attempt>, being deleted → closes the intent",
      why: "deletion may then go on",
      given: creating(
        { type },
        {
          endpoints: [suspect],
          resource: {
            spec: { type },
            isDeleting: true,
            annotations: { [annotations.resolveCreate]: "abandon=attempt-1" },
          },
        },
      ),
      want: { kind: "CloseIntent", cause: "Abandoned" },
    },
    ...[
      ["abandon=attempt-0", "an answer to an earlier question"],
      ["abandon=", "an empty answer"],
      ["adopt=ep-nowhere-9", "an endpoint that is not there"],
      ["adopt=", "an empty answer"],
      ["adopt", "half an answer"],
      ["yes", "no answer"],
      ["", "no answer"],
    ].map(
      ([answer, why = ""]): PlanCase => ({
        name: `"${answer}" → stays Stalled`,
        why: `${why} changes nothing`,
        given: creating({ type }, { ...answered(answer ?? ""), endpoints: [suspect] }),
        want: ambiguous,
      }),
    ),
    ...(
      [
        ["of another branch", { branchId: otherBranch }],
        ["of another type", { type: "ReadWrite" }],
        ["that was there before", { id: "ep-before-3" }],
        ["that another resource owns", { id: "ep-owned-4" }],
        ["with another resource's token", { id: "ep-theirs-5", name: otherName }],
      ] as const
    ).map(
      ([which, offered]): PlanCase => ({
        name: `adopt=<endpoint ${which}> → stays Stalled`,
        why: "an annotation alone never proves ownership",
        given: creating(
          { type, preIds: ["ep-before-3"] },
          {
            ...answered(`adopt=${appeared(type, { id: "ep-odd-3", ...offered }).id}`),
            endpoints: [suspect, appeared(type, { id: "ep-odd-3", ...offered })],
            claims: [claim({ ownedEndpointId: "ep-owned-4" })],
          },
        ),
        want: ambiguous,
      }),
    ),
  ]);
});
