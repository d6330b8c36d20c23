/** Makes the objects of the API events.k8s.io/v1. Pure. */
import type { ResourceEvent, StoredIdentity } from "../../domain/resource-store.ts";
import { group, kind, version } from "../../resource/names.ts";
import { microTime } from "../http/objects.ts";

export interface EventContent {
  readonly resource: StoredIdentity;
  readonly event: ResourceEvent;
  /** When it was recorded, in epoch milliseconds. */
  readonly atMs: number;
}

/** The maximum lengths that the events API allows. */
const limits = { note: 1024, reason: 128, action: 128, instance: 128, name: 253 } as const;

/** Returns the namespace of an event. Kubernetes keeps the events of objects without a namespace in `default`. */
export function placeOf({ resource }: Pick<EventContent, "resource">): string {
  return resource.key.namespace || "default";
}

/** Returns a unique name for an event: the name of the object, shortened, and 16 random hexadecimal digits. */
export function eventName(resourceName: string, random: () => number): string {
  const digits = Array.from({ length: 16 }, () => Math.floor(random() * 16).toString(16)).join("");
  // A part between dots must not end in a hyphen, and must not be empty.
  const start = resourceName.slice(0, limits.name - digits.length - 1).replace(/[-.]+$/, "");
  return `${start}.${digits}`;
}

export function newEvent(content: EventContent & { readonly name: string }, instance: string): object {
  const { resource, event } = content;
  const { namespace, name } = resource.key;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: content.name, namespace: placeOf(content) },
    eventTime: microTime(content.atMs),
    reportingController: "endpoint-operator",
    reportingInstance: instance.slice(0, limits.instance),
    type: event.type,
    reason: event.reason.slice(0, limits.reason),
    action: event.action.slice(0, limits.action),
    note: shorten(event.note),
    regarding: {
      apiVersion: `${group}/${version}`,
      kind: resource.kind ?? kind,
      ...(namespace !== "" && { namespace }),
      name,
      uid: resource.uid,
      resourceVersion: resource.resourceVersion,
    },
  };
}

/** Of an event that was recorded more than once. The API server refuses a series with the count 1. */
export function seriesOf({ atMs }: Pick<EventContent, "atMs">, count: number) {
  return { series: { count, lastObservedTime: microTime(atMs) } };
}

/** Shortens a note to the allowed number of bytes, because the API server counts bytes. */
function shorten(note: string): string {
  const bytes = Buffer.from(note.replaceAll(/\s+/g, " "));
  if (bytes.length <= limits.note) {
    return bytes.toString();
  }
  // If the cut splits a character, the remaining bytes decode to a replacement character, which is removed.
  const cut = bytes.subarray(0, limits.note - 3).toString();
  return `${cut.replace(/\uFFFD+$/, "")}…`;
}
