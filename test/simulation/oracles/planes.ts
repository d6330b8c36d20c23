/** Checks that the control planes which resources describe stay apart, and that each is kept as long as it is needed. */
import type { SentCall } from "../control-plane/sim-control-plane.ts";
import type { StoredObject } from "../kubernetes/answers.ts";
import { clusterControlPlanes, controlPlanes } from "../kubernetes/api-server.ts";
import { secretsCollection } from "../kubernetes/resource-path.ts";
import { conditionOf } from "../run/settled.ts";
import {
  hasRecordAt,
  idOf,
  isGranted,
  keyOf,
  namedPlane,
  settingsPlane,
  storedPlane,
  usersOf,
} from "../run/stored-planes.ts";
import { ownershipOf, specOf } from "../run/stored-records.ts";
import { planeKey, type World } from "../run/world.ts";
import type { Problem } from "./at-rest.ts";
import type { Oracle } from "./oracle.ts";

/** If nothing goes wrong, a change of a Namespace or a control plane is known after this. */
const knownAfterMs = 10_000;

/** A key is read again each minute. */
const keyAgainMs = 75_000;

/**
 * Every request goes to a URL of its control plane, with a key of that control plane. A change of a resource goes by way
 * of the control plane that the resource names, and only with a grant. A control plane goes last.
 */
export function planes(world: World): Oracle {
  /** By id of a control plane. The operator may see late that one is gone. */
  const named = new Map<string, Names>();
  /** Since when each control plane has its URL. */
  const urls = new Map<string, { readonly url: string | undefined; readonly sinceMs: number }>();
  /** Since when a resource has no grant, by uid. */
  const ungranted = new Map<string, number>();
  const isCalm = () => !world.history.isWatchHarmed && hasSureReads(world);
  return {
    onAnyObject({ collection, object, type }) {
      noteGrants(world, ungranted);
      // A change of a Secret may give a key to any of them.
      for (const known of collection === secretsCollection ? named.values() : []) noteKey(world, known);
      if (collection !== controlPlanes && collection !== clusterControlPlanes) return;
      noteNames(world, named, object);
      const url = type === "DELETED" ? undefined : String(specOf(object).url);
      const planeId = idOf(object);
      if (urls.get(planeId)?.url !== url) urls.set(planeId, { url, sinceMs: world.time.nowMs() });
      if (type === "DELETED") judgeRemoval(world, planeId);
    },
    onControlPlaneCall(sent) {
      judgeWay(world, sent);
      judgeGrant(world, sent, isCalm() ? ungranted : new Map());
      const { plane } = sent;
      if (plane === undefined) return;
      const names = named.get(plane.planeId);
      const untilMs = names?.keys.get(String(plane.key));
      if (untilMs === undefined || names?.urls.has(plane.url) !== true) {
        world.violate("S9", "a key is sent to a URL, and its control plane has never named both");
      } else if (isCalm() && world.time.nowMs() - untilMs > keyAgainMs) {
        world.violate("S6", "a key is used long after it was replaced");
      }
      const { url, sinceMs = 0 } = urls.get(plane.planeId) ?? {};
      if (isCalm() && url !== plane.url && world.time.nowMs() - sinceMs > knownAfterMs) {
        world.violate("S6", "a request goes to a URL that the control plane no longer has");
      }
    },
    onKubernetesCall({ body, what }) {
      if (body !== undefined && isKeyIn(JSON.stringify(body))) world.violate("S9", `a key stands in: ${what}`);
    },
    atEnd() {
      for (const plane of world.planes()) {
        const problem = problemOfPlane(world, plane);
        if (problem !== undefined) world.violate(problem.promise, `${plane.metadata.name} ${problem.text}`);
      }
      if ([...world.log.entries.map(({ text }) => text), ...world.metricsPages].some(isKeyIn)) {
        world.violate("S9", "a key stands in the log or in the metrics");
      }
    },
  };
}

/** Returns why a control plane is not in the state in which it should stay; `undefined`: it is. */
export function problemOfPlane(world: World, plane: StoredObject): Problem | undefined {
  const users = usersOf(world, idOf(plane)).length;
  const { deletionTimestamp, generation } = plane.metadata;
  if (deletionTimestamp !== undefined && users === 0) {
    return { promise: "L2", text: "is still being deleted, and no resource uses it" };
  }
  const ready = conditionOf(plane, "Ready");
  if (ready?.observedGeneration !== generation) {
    return { promise: "L1", text: "was not looked at since its spec changed" };
  }
  const key = keyOf(world, plane);
  const isAccepted = key !== undefined && world.accountAt(String(specOf(plane).url)).keys.has(key);
  if (isAccepted && ready.status !== "True") {
    return { promise: "L1", text: `is not Ready: ${ready.reason}: ${ready.message}` };
  }
  const { resources } = plane.status as { readonly resources?: number };
  return resources === users ? undefined : { promise: "L1", text: `shows ${resources} resources, and ${users} use it` };
}

/** What a control plane has named. */
interface Names {
  plane: StoredObject;
  readonly urls: Set<string>;
  /** Until when it had each key; infinity: it has it now, or its Secret is gone. */
  readonly keys: Map<string, number>;
}

function noteNames(world: World, named: Map<string, Names>, plane: StoredObject): void {
  const names = named.get(idOf(plane)) ?? { plane, urls: new Set(), keys: new Map() };
  names.plane = plane;
  names.urls.add(String(specOf(plane).url));
  named.set(idOf(plane), names);
  noteKey(world, names);
}

function noteKey(world: World, { plane, keys }: Names): void {
  const present = keyOf(world, plane);
  if (present !== undefined) keys.set(present, Number.POSITIVE_INFINITY);
  for (const [key, untilMs] of keys) {
    // Without a Secret the last key stays in use, whichever it was.
    const isPresent = present === undefined || key === present;
    keys.set(key, isPresent ? Number.POSITIVE_INFINITY : Math.min(untilMs, world.time.nowMs()));
  }
}

function noteGrants(world: World, ungranted: Map<string, number>): void {
  for (const resource of world.resources()) {
    const { uid } = resource.metadata;
    if (isGranted(world, resource)) ungranted.delete(uid);
    else if (!ungranted.has(uid)) ungranted.set(uid, world.time.nowMs());
  }
}

/** Whether a read can fail, so that a change may be known late. */
function hasSureReads({ options: { faults } }: World): boolean {
  return faults.kind !== "Seeded" || (faults.rates.readFails === 0 && faults.rates.paused === 0);
}

/** The resource for which a write is sent; `undefined`: none that exists. */
function senderOf(world: World, { call, creator }: SentCall): StoredObject | undefined {
  return world.resources().find((resource) => {
    if (call.newName !== undefined) return creator.by === "Operator" && creator.uid === resource.metadata.uid;
    const record = ownershipOf(resource);
    return record?.endpointId === call.endpointId && record?.resourceUid === resource.metadata.uid;
  });
}

function judgeWay(world: World, sent: SentCall): void {
  if (sent.call.method === "GET") return;
  const sender = senderOf(world, sent);
  const planeId = sent.plane?.planeId ?? settingsPlane;
  if (sender === undefined || world.history.robbed.has(sender.metadata.uid)) return;
  if (namedPlane(sender) !== planeId) {
    world.violate("S1", "a change is sent by way of a control plane that its resource does not name");
  }
  const { serviceUrl } = ownershipOf(sender) ?? {};
  if (serviceUrl !== undefined && sent.plane !== undefined && serviceUrl !== sent.plane.url) {
    world.violate("S1", "a change is sent to another URL than that of the ownership record");
  }
}

function judgeGrant(world: World, sent: SentCall, ungranted: ReadonlyMap<string, number>): void {
  if (sent.call.method === "GET") return;
  const sender = senderOf(world, sent);
  if (sender === undefined) return;
  const { uid, deletionTimestamp } = sender.metadata;
  // What a resource has created goes with it, also without a grant.
  if (deletionTimestamp !== undefined && ownershipOf(sender)?.origin === "Created") return;
  if (world.time.nowMs() - (ungranted.get(uid) ?? Number.POSITIVE_INFINITY) > knownAfterMs) {
    world.violate("S1", `a ${sent.call.method} is sent without a grant`);
  }
}

function judgeRemoval(world: World, planeId: string): void {
  const left = world.resources().filter((resource) => hasRecordAt(resource, planeId));
  if (left.length > 0) world.violate("S4", "a control plane is released while a resource has something there");
}

const keyBegins = planeKey(0).slice(0, 24);
const encodedKeyBegins = Buffer.from(keyBegins).toString("base64");

function isKeyIn(text: string): boolean {
  return text.includes(keyBegins) || text.includes(encodedKeyBegins);
}

/** Whether a resource cannot use its control plane for a reason that lies in the control plane. */
export function isPlaneMissing(world: World, resource: StoredObject): boolean {
  const planeId = namedPlane(resource);
  return planeId !== settingsPlane && storedPlane(world, planeId) === undefined;
}

/** Whether the control plane of a resource exists and has no key that can be used. */
export function isPlaneWithoutKey(world: World, resource: StoredObject): boolean {
  const plane = storedPlane(world, namedPlane(resource));
  return plane !== undefined && keyOf(world, plane) === undefined;
}

/** Whether the control plane of a resource has another URL than the records of the resource. */
export function isPlaneElsewhere(world: World, resource: StoredObject): boolean {
  const plane = storedPlane(world, namedPlane(resource));
  const { serviceUrl } = ownershipOf(resource) ?? {};
  const { createIntent } = (resource.status ?? {}) as { readonly createIntent?: { readonly serviceUrl?: string } };
  const recorded = serviceUrl ?? createIntent?.serviceUrl;
  return plane !== undefined && recorded !== undefined && recorded !== specOf(plane).url;
}
