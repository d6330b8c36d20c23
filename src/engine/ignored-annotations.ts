/** Reports annotations of our prefix that mean nothing to the operator, for instance `pausd`, or `paused: "yes"`. */
import { type ResourceEvent, warning } from "../domain/resource-store.ts";
import { conditionOf } from "../resource/conditions.ts";
import { annotations, group } from "../resource/names.ts";
import type { Step } from "./kind.ts";
import type { KindStatus, KindTypes } from "./kind-types.ts";

const meaningful: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(Object.values(annotations).map((name) => [name, /(?:)/])),
  [annotations.paused]: /^(?:true|false)$/,
  [annotations.resolveCreate]: /^(?:adopt|abandon)=./,
};

const begin = " The operator ignores these annotations:";

/** Adds them to the message of Ready. @param statusOf computes the status from a step that does not show them */
export function withIgnored<T extends KindTypes>(step: Step<T>, statusOf: (step: Step<T>) => T["status"]): T["status"] {
  const { resource } = step.facts;
  const plain = { ...step, facts: { ...step.facts, resource: { ...resource, status: noting(resource.status, "") } } };
  const wrong = Object.entries(resource.annotations).filter(([name, value]) => !meaningful[name]?.test(value));
  const texts = wrong.map(([name, value]) => `${name.slice(group.length + 1)}=${JSON.stringify(value.slice(0, 40))}`);
  return noting(statusOf(plain), wrong.length === 0 ? "" : `${begin} ${texts.join(", ")}.`.slice(0, 300));
}

function noting<Status extends KindStatus>(status: Status, note: string): Status {
  const conditions = status.conditions?.map((each) =>
    each.type === "Ready" ? { ...each, message: `${each.message.split(begin)[0]}${note}` } : each,
  );
  return { ...status, ...(conditions && { conditions }) };
}

const noteIn = ({ conditions }: KindStatus) => conditionOf(conditions, "Ready")?.message.split(begin)[1];

/** One Warning when they appear. @param next the status that was stored */
export function eventsOfIgnored(before: KindStatus, next: KindStatus): readonly ResourceEvent[] {
  const [known, note] = [before, next].map(noteIn);
  return note === undefined || note === known ? [] : [warning("AnnotationIgnored", "Reconcile", begin.trim() + note)];
}
