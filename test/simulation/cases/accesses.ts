/** Named cases of DatabaseAccesses. */
import { rightControlPlaneClock } from "../control-plane/calendar.ts";
import { world as places } from "../control-plane/engine.ts";
import { annotations } from "../ports.ts";
import { planOf } from "../run/plain-plan.ts";
import { branch, readWrite } from "../workloads/specs.ts";
import { type NamedCase, scripted } from "./named-case.ts";

const endpoint = (atMs: number, branchId = branch(1)) =>
  ({ atMs, action: { kind: "Apply", name: "orders", spec: readWrite(branchId) } }) as const;

interface AccessParts {
  readonly name?: string;
  readonly role?: "Delete";
  readonly database?: "Delete";
}

const access = (atMs: number, { name = "app", role, database }: AccessParts = {}) => {
  const spec = {
    endpointRef: { name: "orders" },
    role: { name: "orders_app", ...(role && { deletionPolicy: role }) },
    database: { name: "orders", ...(database && { deletionPolicy: database }) },
  };
  return { atMs, action: { kind: "ApplyAccess", name, spec } } as const;
};

const annotate = (atMs: number, annotation: string, value: string | null, name = "app") =>
  ({ atMs, action: { kind: "AnnotateAccess", name, annotations: { [annotation]: value } } }) as const;

const cut = (atMs: number, isOn: boolean) =>
  ({ atMs, action: { kind: "Cut", replica: 0, server: "control plane", isOn } }) as const;

const remove = (atMs: number) => ({ atMs, action: { kind: "DeleteAccess", name: "app" } }) as const;

const personsRole = (atMs: number, branchId = branch(1)) =>
  ({ atMs, action: { kind: "PersonCreatesRole", branchId, roleName: "orders_app" } }) as const;

/** Cases in which an edit, a wait or a refusal comes at the moment of an effect on a DatabaseAccess. */
export const accessCases: readonly NamedCase[] = [
  {
    id: "role refused",
    name: "every create of the role is refused, and a person creates it → it is theirs, and stays",
    why: "a person's role is deleted with a resource that never created one",
    plan: planOf({
      world: { hasAccesses: true },
      faults: scripted({ [`POST role of ${places.project} #1`]: { kind: "Refused", status: 422 } }),
      steps: [
        endpoint(1_000),
        access(20_000, { role: "Delete", database: "Delete" }),
        personsRole(20_800),
        remove(60_000),
      ],
    }),
  },
  {
    id: "two resets in a second",
    name: "two resources share a role, and their resets fall into one second of whole-second times → both Secrets follow",
    why: "an application is locked out, and its Secret never gets the password that works",
    plan: planOf({
      world: {
        hasAccesses: true,
        controlPlaneClock: { ...rightControlPlaneClock, wholeSeconds: true },
        operationLatencyMs: { min: 50, max: 100 },
      },
      steps: [
        endpoint(1_000),
        access(10_000),
        access(11_000, { name: "jobs" }),
        annotate(40_000, annotations.rotateRequestedAt, "1"),
        annotate(40_000, annotations.rotateRequestedAt, "1", "jobs"),
      ],
    }),
  },
  {
    id: "outage of both kinds",
    name: "the control plane goes away, and a DatabaseAccess needs it → after half a minute, both kinds say so; a short outage changes nothing",
    why: "Ready stays True for ten minutes, and a person looks for the fault elsewhere",
    plan: planOf({
      world: { hasAccesses: true },
      steps: [
        endpoint(1_000),
        access(10_000),
        cut(60_000, true),
        cut(80_000, false),
        cut(120_000, true),
        annotate(121_000, annotations.reconcileRequestedAt, "1"),
        cut(240_000, false),
      ],
      quietFromMs: 250_000,
    }),
    judge: ({ log }) => {
      const reports = (what: string, fromMs: number, untilMs: number) =>
        log.entries.filter(
          ({ text, atMs }) =>
            text === `asks the API server to patch status of ${what}` && atMs > fromMs && atMs < untilMs,
        ).length;
      return ["ComputeEndpoint shop/orders", "DatabaseAccess shop/app"].flatMap((what) => [
        ...(reports(what, 60_000, 120_000) === 0 ? [] : [`${what} reports a short outage`]),
        ...(reports(what, 150_000, 195_000) === 1 ? [] : [`${what} does not report the outage`]),
      ]);
    },
  },
];
