import type { ResourceEvent } from "../../domain/event-recorder.ts";
import type { StoredIdentity } from "../../domain/resource-store.ts";
import { group, kind, version } from "../../resource/names.ts";

/** The content of an event, and its count. Times are epoch milliseconds. */
export interface EventContent {
  readonly resource: StoredIdentity;
  readonly event: ResourceEvent;
  readonly name: string;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly count: number;
}

const reportingController = "endpoint-operator";
/** Bounds of the events API. */
const limits = { note: 1024, reason: 128, action: 128, instance: 128, name: 253 } as const;

/** A unique name for an event: the name of the object, shortened, and 16 random hexadecimal digits. */
export function eventName(resourceName: string, random: () => number): string {
  const digits = Array.from({ length: 16 }, () => Math.floor(random() * 16).toString(16)).join("");
  // A part between dots must not end in a hyphen or be empty.
  const start = resourceName.slice(0, limits.name - digits.length - 1).replace(/[-.]+$/, "");
  return `${start}.${digits}`;
}

/** The body that creates the event. */
export function newEventBody(content: EventContent, instance: string): object {
  const { resource, event } = content;
  const { namespace, name } = resource.key;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: content.name, namespace },
    eventTime: microTime(content.firstMs),
    reportingController,
    reportingInstance: instance.slice(0, limits.instance),
    type: event.type,
    reason: event.reason.slice(0, limits.reason),
    action: event.action.slice(0, limits.action),
    note: shorten(event.note),
    regarding: {
      apiVersion: `${group}/${version}`,
      kind: resource.kind ?? kind,
      namespace,
      name,
      uid: resource.uid,
      resourceVersion: resource.resourceVersion,
    },
    ...(content.count > 1 ? seriesPatchBody(content) : {}),
  };
}

/** The series with the count, for the second event and later ones: the API server refuses a series of one. */
export function seriesPatchBody(content: Pick<EventContent, "count" | "lastMs">): object {
  return { series: { count: content.count, lastObservedTime: microTime(content.lastMs) } };
}

/** Shortens to bytes, because the API server counts bytes. */
function shorten(note: string): string {
  const bytes = Buffer.from(note.replaceAll(/\s+/g, " "), "utf8");
  if (bytes.length <= limits.note) {
    return bytes.toString("utf8");
  }
  // Half a character decodes to the replacement character.
  const cut = bytes
    .subarray(0, limits.note - 3)
    .toString("utf8")
    .replace(/\uFFFD+$/, "");
  return `${cut}…`;
}

/** RFC 3339 with microseconds, the form of the API. */
function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace("Z", "000Z");
}
