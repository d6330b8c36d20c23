/** Checks that the control planes which resources describe stay apart, and that each is kept as long as it is needed. */
import type { SentCall } from "../control-plane/sim-control-plane.ts";
import type { StoredObject } from "../kubernetes/answers.ts";
import { clusterControlPlanes, controlPlanes } from "../kubernetes/api-server.ts";
import { secretsCollection } from "../kubernetes/resource-path.ts";
import { group } from "../ports.ts";
import { conditionOf } from "../run/settled.ts";
import {
  hasRecordAt,
  idOf,
  isGranted,
  keyOf,
  namedPlane,
  secretOf,
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
 * Every request goes to a URL with a key that one control plane named together. A change of a resource goes by way of
 * the control plane that the resource names, and only with a grant. A control plane goes last.
 */
export function planes(world: World): Oracle {
  /** Until when each URL and key belonged together; infinity: they do now. */
  const pairs = new Map<string, number>();
  /** Since when each control plane has its URL, and the URL before. */
  const urls = new Map<string, { readonly url: string | undefined; readonly sinceMs: number }>();
  /** Since when a resource has no grant, by uid. */
  const ungranted = new Map<string, number>();
  const isCalm = () => !world.history.isWatchHarmed && hasSureReads(world);
  return {
    onAnyObject({ collection, object, type }) {
      notePairs(world, pairs);
      noteGrants(world, ungranted);
      if (collection !== controlPlanes && collection !== clusterControlPlanes) return;
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
      const untilMs = pairs.get(pairOf(plane));
      if (untilMs === undefined) {
        world.violate("S9", "a key is sent to a URL that no control plane has ever named with it");
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
      const unkept = problemOfSecrets(world);
      if (unkept !== undefined) world.violate(unkept.promise, unkept.text);
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
  if (key === undefined && ready.status === "True") return { promise: "S8", text: "is Ready, and has no key" };
  const { resources } = plane.status as { readonly resources?: number };
  return resources === users ? undefined : { promise: "L1", text: `shows ${resources} resources, and ${users} use it` };
}

function pairOf({ url, key }: { readonly url: unknown; readonly key: string }): string {
  return `${url} ${key}`;
}

function notePairs(world: World, pairs: Map<string, number>): void {
  const present = world.planes().flatMap((plane) => {
    const key = keyOf(world, plane);
    return key === undefined ? [] : [pairOf({ url: specOf(plane).url, key })];
  });
  for (const [pair, untilMs] of pairs) {
    if (!present.includes(pair)) pairs.set(pair, Math.min(untilMs, world.time.nowMs()));
  }
  for (const pair of present) pairs.set(pair, Number.POSITIVE_INFINITY);
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
    if (call.creation !== undefined) return creator.by === "Operator" && creator.uid === resource.metadata.uid;
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
  if (world.history.uninstalled.size > 0) return;
  const left = world.resources().filter((resource) => hasRecordAt(resource, planeId));
  if (left.length > 0) world.violate("S4", "a control plane is released while a resource has something there");
}

/** A Secret is kept exactly as long as a resource needs its key. Returns what is wrong; `undefined`: nothing. */
export function problemOfSecrets(world: World): Problem | undefined {
  if (world.history.uninstalled.size > 0) return undefined;
  const planes = world.planes();
  const isUsed = (plane: StoredObject) => usersOf(world, idOf(plane)).length > 0;
  const holders = world.apiServer.store.list(secretsCollection, undefined).flatMap(holdersOf);
  const needed = planes.filter(isUsed).map(holderOf);
  if (holders.some((holder) => !needed.includes(holder))) {
    return { promise: "L2", text: "a Secret keeps the finalizer of a control plane that no resource uses" };
  }
  const isUnkept = planes.filter(isUsed).some((plane) => {
    const secret = secretOf(world, plane);
    const isProtectable = secret !== undefined && secret.metadata.deletionTimestamp === undefined;
    return isProtectable && !holdersOf(secret).includes(holderOf(plane));
  });
  return isUnkept
    ? { promise: "S4", text: "nothing keeps the Secret of a control plane that a resource uses" }
    : undefined;
}

/** The finalizer by which a control plane keeps its Secret. */
function holderOf({ metadata: { uid } }: StoredObject): string {
  return `${group}/key-of-${uid}`;
}

function holdersOf({ metadata: { finalizers } }: StoredObject): readonly string[] {
  return Array.isArray(finalizers) ? finalizers.map(String) : [];
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
