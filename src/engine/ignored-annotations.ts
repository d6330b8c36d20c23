/** Reports annotations of our prefix that mean nothing to the operator, for instance `pausd`, or `paused: "yes"`. */
import { type ResourceEvent, warning } from "../domain/resource-store.ts";
import { conditionOf } from "../resource/conditions.ts";
import { annotations, group } from "../resource/names.ts";
import type { KindResource, KindStatus } from "./kind.ts";

const meaningful: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(Object.values(annotations).map((name) => [name, /(?:)/])),
  [annotations.paused]: /^(?:true|false)$/,
  [annotations.resolveCreate]: /^(?:adopt|abandon)=./,
};

const begin = " The operator ignores these annotations:";

/** Ends the message of Ready with what is ignored. @param message may end with what was ignored before */
export function withIgnored(message: string, { annotations: given }: KindResource): string {
  const wrong = Object.entries(given).filter(([name, value]) => !meaningful[name]?.test(value));
  const texts = wrong.map(([name, value]) => `${name.slice(group.length + 1)}=${JSON.stringify(value.slice(0, 40))}`);
  const note = wrong.length === 0 ? "" : `${begin} ${texts.join(", ")}.`.slice(0, 300);
  return `${message.split(begin)[0]}${note}`;
}

const noteIn = ({ conditions }: KindStatus) => conditionOf(conditions, "Ready")?.message.split(begin)[1];

/** One Warning when they appear. @param next the status that was stored */
export function eventsOfIgnored(before: KindStatus, next: KindStatus): readonly ResourceEvent[] {
  const [known, note] = [before, next].map(noteIn);
  return note === undefined || note === known ? [] : [warning("AnnotationIgnored", "Reconcile", begin.trim() + note)];
}
