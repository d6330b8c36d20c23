/** Carries out the actions of a run. */
import { world as places, Refusal } from "../control-plane/engine.ts";
import type { ControlPlaneServer } from "../control-plane/server.ts";
import { type Answer, isSuccess } from "../kubernetes/answers.ts";
import { type ApiRequest, computeEndpoints } from "../kubernetes/api-server.ts";
import type { JsonObject } from "../kubernetes/merge-patch.ts";
import { namespacesCollection } from "../kubernetes/resource-path.ts";
import {
  clusterControlPlaneNames,
  controlPlaneNames,
  databaseAccessNames,
  grantAnnotation,
  group,
  kind,
  plural,
  version,
} from "../ports.ts";
import { everlasting } from "../time/virtual-time.ts";
import type { Action, PlaneName } from "./actions.ts";
import { intentOf } from "./stored-records.ts";
import { planeKey, type World } from "./world.ts";

/** The namespace of every resource of a run. */
export const namespace = "shop";

const collectionPath = `/apis/${group}/${version}/namespaces/${namespace}/${plural}`;

const accessPath = `/apis/${group}/${version}/namespaces/${namespace}/${databaseAccessNames.plural}`;

/** How the control planes of runs are stored: their collections, and the namespaces of their Secrets. */
const planePlaces: Readonly<Record<PlaneName, PlanePlace>> = {
  own: {
    kind: controlPlaneNames.kind,
    path: `/apis/${group}/${version}/namespaces/${namespace}/${controlPlaneNames.plural}`,
    keyNamespace: namespace,
  },
  shared: {
    kind: clusterControlPlaneNames.kind,
    path: `/apis/${group}/${version}/${clusterControlPlaneNames.plural}`,
    keyNamespace: "platform",
  },
};

interface PlanePlace {
  readonly kind: string;
  readonly path: string;
  readonly keyNamespace: string;
}

/** Returns the path of a resource. */
export function pathOf(name: string): string {
  return `${collectionPath}/${name}`;
}

/** Performs one action now. If it is not possible at the moment, nothing is done, and the log says so. */
export function performAction(world: World, action: Action): void {
  const actor = actorOf(action);
  world.log.add(actor, JSON.stringify(action));
  try {
    perform(world, action);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    world.log.add("control plane", `refuses: ${error.message}`);
  }
}

function actorOf({ kind }: Action): string {
  if (kind.startsWith("Person")) return "person";
  return ["Apply", "Delete", "Recreate", "Annotate", "RestoreWithoutStatus", "PatchStatus", "LoseStatus"].includes(
    kind,
  ) || /Access|Secret|Plane|Key/.test(kind)
    ? "user"
    : "world";
}

function perform(world: World, action: Action): void {
  switch (action.kind) {
    case "Apply":
      apply(world, action);
      break;
    case "Delete":
      call(world, { method: "DELETE", path: pathOf(action.name) });
      break;
    case "Recreate":
      call(world, { method: "DELETE", path: pathOf(action.name) });
      createOnceGone(world, action);
      break;
    case "Annotate": {
      const { annotations } = action;
      call(world, { method: "PATCH", path: pathOf(action.name), body: { metadata: { annotations } } });
      break;
    }
    case "LoseStatus":
      loseStatus(world, action.name);
      break;
    case "PatchStatus": {
      const { status } = action;
      world.history.robbed.add(world.stored(action.name)?.metadata.uid ?? "");
      call(world, { method: "PATCH", path: `${pathOf(action.name)}/status`, body: { status } });
      break;
    }
    case "RestoreWithoutStatus":
      restoreWithoutStatus(world, action.name);
      break;
    case "ApplyAccess": {
      const { name, spec } = action;
      const body = { apiVersion: `${group}/${version}`, kind: databaseAccessNames.kind, metadata: { name }, spec };
      call(world, { method: "POST", path: accessPath, body });
      break;
    }
    case "AnnotateAccess": {
      const { annotations } = action;
      call(world, { method: "PATCH", path: `${accessPath}/${action.name}`, body: { metadata: { annotations } } });
      break;
    }
    case "DeleteAccess":
      call(world, { method: "DELETE", path: `${accessPath}/${action.name}` });
      break;
    case "DeleteSecret":
      call(world, { method: "DELETE", path: `/api/v1/namespaces/${namespace}/secrets/${action.name}` });
      break;
    case "Grant":
      grant(world, action.projects);
      break;
    case "ApplyPlane":
    case "DeletePlane":
    case "ApplyCrowdOfPlanes":
    case "ApplyKey":
    case "DeleteKey":
      performOnPlane(world, action);
      break;
    case "AcceptKeys": {
      const { keys } = world.accountAt(action.url);
      keys.clear();
      for (const key of action.keys) keys.add(planeKey(key));
      break;
    }
    case "Compact":
      world.apiServer.compact();
      break;
    case "UpgradeCrd":
      world.history.isWatchHarmed = true;
      world.apiServer.upgrade();
      world.hub.endAll(computeEndpoints);
      break;
    case "Cut":
    case "Crash":
    case "Stop":
    case "RollOut":
    case "Pause":
      harmReplica(world, action);
      break;
    case "WatchLag":
    case "WatchMute":
    case "WatchBreak":
    case "WatchCut":
    case "WatchLoss":
      harmWatch(world, action);
      break;
    default:
      performOnControlPlane(world, action);
      break;
  }
}

type PlaneAction = Extract<
  Action,
  { readonly kind: "ApplyPlane" | "DeletePlane" | "ApplyCrowdOfPlanes" | "ApplyKey" | "DeleteKey" }
>;

function performOnPlane(world: World, action: PlaneAction): void {
  if (action.kind === "ApplyCrowdOfPlanes") {
    const { kind } = controlPlaneNames;
    const crowd = planePlaces.own.path.replace(namespace, "crowd");
    for (let at = 0; at < action.count; at += 1) {
      const metadata = { name: `plane-${at}` };
      put(world, crowd, { apiVersion: `${group}/${version}`, kind, metadata, spec: action.spec });
    }
    return;
  }
  const { kind: planeKind, path, keyNamespace } = planePlaces[action.plane];
  const secrets = `/api/v1/namespaces/${keyNamespace}/secrets`;
  const name = `${action.plane}-key`;
  switch (action.kind) {
    case "ApplyPlane": {
      const metadata = { name: action.plane };
      const body = { apiVersion: `${group}/${version}`, kind: planeKind, metadata, spec: action.spec };
      put(world, path, body);
      break;
    }
    case "DeletePlane":
      call(world, { method: "DELETE", path: `${path}/${action.plane}` });
      break;
    case "ApplyKey": {
      const data = { "api-key": Buffer.from(planeKey(action.key)).toString("base64") };
      put(world, secrets, { apiVersion: "v1", kind: "Secret", metadata: { name }, type: "Opaque", data });
      break;
    }
    case "DeleteKey":
      call(world, { method: "DELETE", path: `${secrets}/${name}` });
  }
}

/** Creates an object, or replaces the members of it that are given here. */
function put(world: World, path: string, body: JsonObject & { readonly metadata: { readonly name: string } }): void {
  const { metadata, spec, ...rest } = body;
  const one = `${path}/${metadata.name}`;
  const found = world.apiServer.handle({ method: "GET", path: one });
  if (!isSuccess(found)) {
    call(world, { method: "POST", path, body });
    return;
  }
  const stored = (found.body as JsonObject).spec ?? {};
  const gone = Object.fromEntries(Object.keys(stored as JsonObject).map((field) => [field, null]));
  call(world, {
    method: "PATCH",
    path: one,
    body: { ...rest, ...(spec && { spec: { ...gone, ...(spec as JsonObject) } }) },
  });
}

function grant({ apiServer: { store } }: World, projects: string | null): void {
  const annotations = projects === null ? {} : { [grantAnnotation]: projects };
  const metadata = { name: namespace, namespace: "", uid: "uid-shop", resourceVersion: "", generation: 1, annotations };
  store.put(namespacesCollection, { apiVersion: "v1", kind: "Namespace", metadata });
}

type ReplicaAction = Extract<Action, { readonly kind: "Cut" | "Crash" | "Stop" | "RollOut" | "Pause" }>;

function harmReplica(world: World, action: ReplicaAction): void {
  world.history.isWatchHarmed = true;
  const replica = world.replicas[action.replica];
  if (replica === undefined) return;
  switch (action.kind) {
    case "Crash":
      replica.process?.crash();
      break;
    case "Stop":
      replica.stop();
      break;
    case "RollOut":
      replica.isOld = action.isOld;
      replica.stop();
      break;
    case "Pause":
      replica.machine.pause(action.durationMs);
      break;
    case "Cut": {
      const link = `${replica.machine.name} ${action.server}`;
      if (action.isOn) world.cut.add(link);
      else world.cut.delete(link);
      if (action.isOn && action.server === "API server") world.hub.mute(replica.process?.identity ?? "");
    }
  }
}

type WatchAction = Extract<
  Action,
  { readonly kind: "WatchLag" | "WatchMute" | "WatchBreak" | "WatchCut" | "WatchLoss" }
>;

function harmWatch(world: World, action: WatchAction): void {
  world.history.isWatchHarmed = true;
  switch (action.kind) {
    case "WatchLag":
      world.watchConditions.lagMs = action.lagMs;
      return;
    case "WatchMute":
      world.hub.mute(world.replicas[action.replica]?.process?.identity ?? "");
      break;
    case "WatchBreak":
      world.hub.breakOff();
      break;
    case "WatchCut":
      world.hub.cutNext(action.cut);
      break;
    case "WatchLoss":
      world.watchConditions.lostPerMille = action.lostPerMille;
      world.watchConditions.repeatedPerMille = action.repeatedPerMille;
  }
}

type ControlPlaneAction = Exclude<
  Action,
  | ReplicaAction
  | WatchAction
  | {
      readonly kind:
        | "Apply"
        | "Delete"
        | "Recreate"
        | "Annotate"
        | "LoseStatus"
        | "PatchStatus"
        | "RestoreWithoutStatus"
        | "ApplyAccess"
        | "AnnotateAccess"
        | "DeleteAccess"
        | "DeleteSecret"
        | "Grant"
        | PlaneAction["kind"]
        | "AcceptKeys";
    }
  | { readonly kind: "Compact" }
  | { readonly kind: "UpgradeCrd" }
>;

function performOnControlPlane(world: World, action: ControlPlaneAction): void {
  const { controlPlane } = world;
  switch (action.kind) {
    case "PersonCreates":
      world.history.forgetFormer(controlPlane.create(action.projectId, action.creation, { by: "Person" }).endpoint.id);
      break;
    case "OtherClusterCreates": {
      const { branchId, name } = action;
      controlPlane.create(places.project, { branchId, type: "ReadWrite", name }, { by: "OtherCluster" });
      break;
    }
    case "PersonChanges":
      onEndpoint(world, action.branchId, ({ controlPlane: at, projectId, endpointId }) => {
        at.update(projectId, endpointId, action.changes);
        noteUnrecognizable(world, endpointId);
      });
      break;
    case "PersonDeletes":
      onEndpoint(world, action.branchId, ({ controlPlane: at, projectId, endpointId }) => {
        at.delete(projectId, endpointId);
        world.history.goneMs.set(endpointId, world.time.nowMs());
      });
      break;
    case "PersonReplaces":
      onEndpoint(world, action.branchId, ({ controlPlane: at, projectId, endpointId }) => {
        const { branchId, type } = at.endpoint(projectId, endpointId);
        if (type !== "ReadWrite" && type !== "ReadOnly") return;
        at.delete(projectId, endpointId);
        world.history.goneMs.set(endpointId, world.time.nowMs());
        // If the create of the first one has no answer yet, and no names are shown, no client can tell the two apart.
        const maker = at.creators.get(endpointId);
        const isKnown = world.history.firstRecords.has(endpointId);
        const isOurs = maker !== undefined && !isKnown && !at.echoesNames;
        at.create(projectId, { branchId, type, name: "by-hand" }, isOurs ? maker : { by: "Person" });
      });
      break;
    case "PersonCreatesRole":
      controlPlane.createRole({ projectId: places.project, branchId: action.branchId, roleName: action.roleName });
      world.history.personsRoles.push(action);
      break;
    case "PersonResets":
      controlPlane.resetPassword({ projectId: places.project, branchId: action.branchId, roleName: action.roleName });
      break;
    case "PersonSuspends":
      onEndpoint(world, action.branchId, ({ controlPlane: at, projectId, endpointId }) =>
        at.suspend(projectId, endpointId),
      );
      break;
    case "Maintain":
      onEndpoint(world, action.branchId, ({ controlPlane: at, projectId, endpointId }) =>
        at.maintain(projectId, endpointId, action.count, action.work),
      );
      break;
    case "Unreadable":
      onEndpoint(world, action.branchId, ({ controlPlane: at, endpointId }) => {
        if (action.isOn) at.unreadable.add(endpointId);
        else at.unreadable.delete(endpointId);
      });
      break;
    case "FailNext":
      for (const each of world.controlPlanes) each.failNext(action.action, action.isReverted);
      break;
    case "EndNext":
      for (const each of world.controlPlanes) each.closeNext(action.action, action.status);
      break;
    case "Transfer":
      for (const { transferred } of world.controlPlanes) {
        if (action.status === null) transferred.delete(action.projectId);
        else transferred.set(action.projectId, action.status);
      }
      break;
    case "ListLag":
      for (const each of world.controlPlanes) each.setListLag(action.lagMs);
      break;
    case "DisguiseNext": {
      const { kind: _, ...disguise } = action;
      controlPlane.disguiseNext(disguise);
    }
  }
}

interface FoundEndpoint {
  readonly controlPlane: ControlPlaneServer;
  readonly projectId: string;
  readonly endpointId: string;
}

/** Does work with the first endpoint of a branch in each account. If there is none, nothing is done. */
function onEndpoint(world: World, branchId: string, work: (found: FoundEndpoint) => unknown): void {
  for (const controlPlane of world.controlPlanes) {
    for (const projectId of world.projectIds) {
      const found = controlPlane.live(projectId).find((endpoint) => endpoint.branchId === branchId);
      if (found !== undefined) work({ controlPlane, projectId, endpointId: found.id });
    }
  }
}

function apply(world: World, { name, spec }: { readonly name: string; readonly spec: JsonObject }): void {
  const body = { apiVersion: `${group}/${version}`, kind, metadata: { name }, spec };
  const stored = world.stored(name);
  if (stored === undefined) {
    call(world, { method: "POST", path: collectionPath, body });
    return;
  }
  // Members of the old spec that the new spec does not have are removed.
  const gone = Object.fromEntries(Object.keys((stored.spec ?? {}) as JsonObject).map((field) => [field, null]));
  call(world, { method: "PATCH", path: pathOf(name), body: { spec: { ...gone, ...spec } } });
}

function createOnceGone(world: World, subject: { readonly name: string; readonly spec: JsonObject }): void {
  if (world.stored(subject.name) === undefined) apply(world, subject);
  else world.time.after(1_000, everlasting, () => createOnceGone(world, subject));
}

/** Removes the status. If names show the token, the resource can find its endpoint again. */
function loseStatus(world: World, name: string): void {
  const before = world.stored(name);
  if (before === undefined) return;
  const { uid } = before.metadata;
  const hasOpenCreate = intentOf(before) !== undefined || world.history.unresolvedPosts(uid).length > 0;
  if (hasOpenCreate || !world.controlPlane.echoesNames) world.history.robbed.add(uid);
  world.history.statusLost.set(uid, world.time.nowMs());
  call(world, { method: "PATCH", path: `${pathOf(name)}/status`, body: { status: null } });
}

function restoreWithoutStatus(world: World, name: string): void {
  const before = world.stored(name);
  if (before === undefined) return;
  world.history.robbed.add(before.metadata.uid);
  call(world, { method: "PATCH", path: pathOf(name), body: { metadata: { finalizers: null } } });
  call(world, { method: "DELETE", path: pathOf(name) });
  const { finalizers, annotations } = before.metadata;
  const metadata = { name, ...(finalizers && { finalizers }), ...(annotations && { annotations }) };
  call(world, { method: "POST", path: collectionPath, body: { metadata, spec: before.spec } });
}

function call(world: World, request: ApiRequest): void {
  const answer: Answer = world.apiServer.handle(request);
  if (!isSuccess(answer)) world.log.add("API server", `answers the user ${answer.status}`);
}

/**
 * Notes that a resource can no longer recognize its endpoint. Without a name, an endpoint is recognized only by the
 * fields that its create sent.
 */
function noteUnrecognizable({ controlPlane, history }: World, endpointId: string): void {
  const creator = controlPlane.creators.get(endpointId);
  if (controlPlane.echoesNames || creator?.by !== "Operator") return;
  if (history.recordedIds.get(creator.uid)?.has(endpointId) !== true) history.robbed.add(creator.uid);
}
