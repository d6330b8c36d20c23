/** Carries out the actions of a run. */
import { world as places, Refusal } from "../control-plane/engine.ts";
import type { ControlPlaneServer } from "../control-plane/server.ts";
import { type Answer, isSuccess } from "../kubernetes/answers.ts";
import type { ApiRequest } from "../kubernetes/api-server.ts";
import type { JsonObject } from "../kubernetes/merge-patch.ts";
import { namespacesCollection } from "../kubernetes/resource-path.ts";
import {
  annotations,
  clusterControlPlaneNames,
  controlPlaneNames,
  databaseAccessNames,
  databaseBranchNames,
  grantAnnotation,
  group,
  kind,
  plural,
  version,
} from "../ports.ts";
import { everlasting } from "../time/virtual-time.ts";
import type { Action, PlaneName } from "./actions.ts";
import { changeBranch, freeBranches, recordsOf } from "./people-and-branches.ts";
import { intentOf, pendingOf } from "./stored-records.ts";
import { planeKey, type World } from "./world.ts";

/** The namespace of every resource of a run. */
export const namespace = "shop";

const collectionPath = `/apis/${group}/${version}/namespaces/${namespace}/${plural}`;

const accessPath = `/apis/${group}/${version}/namespaces/${namespace}/${databaseAccessNames.plural}`;

const branchPath = `/apis/${group}/${version}/namespaces/${namespace}/${databaseBranchNames.plural}`;

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
  world.log.add(actorOf(action), JSON.stringify(action));
  if (harms.test(action.kind)) world.history.isWatchHarmed = true;
  try {
    const perform = performers[action.kind] as (world: World, action: Action) => void;
    perform(world, action);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    world.log.add("control plane", `refuses: ${error.message}`);
  }
}

/** Actions after which the operator may see an event late. */
const harms = /^(Watch|Cut$|Crash$|Stop$|Pause$)/;

function actorOf({ kind }: Action): string {
  if (kind.startsWith("Person")) return "person";
  return ["Apply", "Delete", "Recreate", "Annotate", "RestoreWithoutStatus", "LoseStatus"].includes(kind) ||
    /Access|Branch|Secret|Plane|Key/.test(kind)
    ? "user"
    : "world";
}

type Performers = {
  readonly [Kind in Action["kind"]]: (world: World, action: Extract<Action, { readonly kind: Kind }>) => void;
};

const ofKubernetes = {
  Apply: apply,
  Delete: (world, { name }) => call(world, { method: "DELETE", path: pathOf(name) }),
  Recreate(world, action) {
    call(world, { method: "DELETE", path: pathOf(action.name) });
    createOnceGone(world, action);
  },
  Annotate: (world, { name, annotations }) =>
    call(world, { method: "PATCH", path: pathOf(name), body: { metadata: { annotations } } }),
  PersonApproves(world, { name }) {
    const stored = world.stored(name);
    const hash = stored === undefined ? undefined : pendingOf(stored)?.hash;
    if (hash === undefined) return;
    const body = { metadata: { annotations: { [annotations.approveChange]: hash } } };
    call(world, { method: "PATCH", path: pathOf(name), body });
  },
  LoseStatus: (world, { name }) => loseStatus(world, name),
  RestoreWithoutStatus: (world, { name }) => restoreWithoutStatus(world, name),
  ApplyAccess(world, { name, spec }) {
    const body = { apiVersion: `${group}/${version}`, kind: databaseAccessNames.kind, metadata: { name }, spec };
    call(world, { method: "POST", path: accessPath, body });
  },
  AnnotateAccess: (world, { name, annotations }) =>
    call(world, { method: "PATCH", path: `${accessPath}/${name}`, body: { metadata: { annotations } } }),
  DeleteAccess: (world, { name }) => call(world, { method: "DELETE", path: `${accessPath}/${name}` }),
  ApplyBranch: (world, { name, spec }) =>
    put(world, branchPath, {
      apiVersion: `${group}/${version}`,
      kind: databaseBranchNames.kind,
      metadata: { name },
      spec,
    }),
  AnnotateBranch: (world, { name, annotations }) =>
    call(world, { method: "PATCH", path: `${branchPath}/${name}`, body: { metadata: { annotations } } }),
  DeleteBranch(world, { name }) {
    if (recordsOf(world, name) !== "Lost") call(world, { method: "DELETE", path: `${branchPath}/${name}` });
  },
  LoseBranchStatus(world, { name }) {
    // Only the intent shows that a create is open.
    if (recordsOf(world, name) !== "Owned") return;
    call(world, { method: "PATCH", path: `${branchPath}/${name}/status`, body: { status: null } });
  },
  DeleteSecret: (world, { name }) =>
    call(world, { method: "DELETE", path: `/api/v1/namespaces/${namespace}/secrets/${name}` }),
  Grant: (world, { projects }) => grant(world, projects),
  ApplyPlane: (world, { plane, spec }) => applyPlane(world, planePlaces[plane], { name: plane, spec }),
  DeletePlane: (world, { plane }) => call(world, { method: "DELETE", path: `${planePlaces[plane].path}/${plane}` }),
  ApplyCrowdOfPlanes(world, { count, spec }) {
    const place = { ...planePlaces.own, path: planePlaces.own.path.replace(namespace, "crowd") };
    for (let at = 0; at < count; at += 1) applyPlane(world, place, { name: `plane-${at}`, spec });
  },
  ApplyKey(world, { plane, key }) {
    const metadata = { name: `${plane}-key` };
    const data = { "api-key": Buffer.from(planeKey(key)).toString("base64") };
    put(world, secretsOf(plane), { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data });
  },
  DeleteKey: (world, { plane }) => call(world, { method: "DELETE", path: `${secretsOf(plane)}/${plane}-key` }),
} satisfies Partial<Performers>;

const ofReplicas = {
  Compact: ({ apiServer }) => apiServer.compact(),
  Crash: ({ replicas }, { replica }) => replicas[replica]?.process?.crash(),
  Stop: ({ replicas }, { replica }) => replicas[replica]?.stop(),
  Pause: ({ replicas }, { replica, durationMs }) => replicas[replica]?.machine.pause(durationMs),
  Cut(world, { replica: at, server, isOn }) {
    const replica = world.replicas[at];
    if (replica === undefined) return;
    const link = `${replica.machine.name} ${server}`;
    if (isOn) world.cut.add(link);
    else world.cut.delete(link);
    if (isOn && server === "API server") world.hub.mute(replica.process?.identity ?? "");
  },
  WatchLag({ watchConditions }, { lagMs }) {
    watchConditions.lagMs = lagMs;
  },
  WatchMute: ({ hub, replicas }, { replica }) => hub.mute(replicas[replica]?.process?.identity ?? ""),
  WatchBreak: ({ hub }) => hub.breakOff(),
  WatchCut: ({ hub }, { cut }) => hub.cutNext(cut),
  WatchLoss({ watchConditions }, { lostPerMille, repeatedPerMille }) {
    Object.assign(watchConditions, { lostPerMille, repeatedPerMille });
  },
} satisfies Partial<Performers>;

const ofControlPlanes = {
  AcceptKeys(world, { url, keys }) {
    const account = world.accountAt(url);
    account.keys.clear();
    for (const key of keys) account.keys.add(planeKey(key));
  },
  PersonCreates({ history, controlPlane }, { projectId, creation }) {
    const type = creation.type === "ReadWrite" ? "read_write" : "read_only";
    history.forgetFormer(controlPlane.create(projectId, { ...creation, type }, { by: "Person" }).endpoint.id);
  },
  OtherClusterCreates({ controlPlane }, { branchId, name }) {
    controlPlane.create(places.project, { branchId, type: "read_write", name }, { by: "OtherCluster" });
  },
  PersonChanges: (world, { branchId, changes }) =>
    onEndpoint(world, branchId, ({ controlPlane, projectId, endpointId }) => {
      controlPlane.engine.updateEndpoint(projectId, { endpointId, changes });
      noteUnrecognizable(world, endpointId);
    }),
  PersonDeletes: (world, { branchId }) => onEndpoint(world, branchId, (found) => deleteFound(world, found)),
  PersonReplaces: (world, { branchId }) => onEndpoint(world, branchId, (found) => replaceFound(world, found)),
  PersonChangesBranch: changeBranch,
  PersonFreesBranches: freeBranches,
  PersonCreatesRole({ controlPlane, history }, action) {
    const path = { projectId: places.project, branchId: action.branchId, roleName: action.roleName };
    controlPlane.engine.objects.createRole(path, { canLogIn: true });
    history.personsRoles.push(action);
  },
  PersonResets({ controlPlane }, { branchId, roleName }) {
    controlPlane.engine.objects.resetPassword({ projectId: places.project, branchId, roleName });
  },
  PersonSuspends: (world, { branchId }) =>
    onEndpoint(world, branchId, ({ controlPlane, projectId, endpointId }) =>
      controlPlane.engine.suspendEndpoint(projectId, endpointId),
    ),
  PersonConnects: (world, { branchId }) =>
    onEndpoint(world, branchId, ({ controlPlane, endpointId }) => controlPlane.engine.connect(endpointId, undefined)),
  PersonStarts: (world, { branchId }) =>
    onEndpoint(world, branchId, ({ controlPlane, projectId, endpointId }) =>
      controlPlane.engine.startEndpoint(projectId, endpointId),
    ),
  Maintain: (world, { branchId, count }) =>
    onEndpoint(world, branchId, ({ controlPlane, projectId, endpointId }) =>
      controlPlane.maintain(projectId, endpointId, count),
    ),
  Unreadable: (world, { branchId, isOn }) =>
    onEndpoint(world, branchId, ({ controlPlane: { unreadable }, endpointId }) => {
      if (isOn) unreadable.add(endpointId);
      else unreadable.delete(endpointId);
    }),
  FailNext({ controlPlanes }, { action }) {
    for (const each of controlPlanes) each.failNext(action);
  },
  Transfer({ controlPlanes }, { projectId, status }) {
    for (const { transferred } of controlPlanes) {
      if (status === null) transferred.delete(projectId);
      else transferred.set(projectId, status);
    }
  },
  ListLag({ controlPlanes }, { lagMs }) {
    for (const each of controlPlanes) each.setListLag(lagMs);
  },
  DisguiseNext: ({ controlPlane }, { kind: _, ...disguise }) => controlPlane.disguiseNext(disguise),
} satisfies Partial<Performers>;

const performers: Performers = { ...ofKubernetes, ...ofReplicas, ...ofControlPlanes };

function secretsOf(plane: PlaneName): string {
  return `/api/v1/namespaces/${planePlaces[plane].keyNamespace}/secrets`;
}

function applyPlane(
  world: World,
  { kind: planeKind, path }: PlanePlace,
  { name, spec }: { readonly name: string; readonly spec: JsonObject },
): void {
  put(world, path, { apiVersion: `${group}/${version}`, kind: planeKind, metadata: { name }, spec });
}

function deleteFound(world: World, { controlPlane, projectId, endpointId }: FoundEndpoint): void {
  controlPlane.engine.deleteEndpoint(projectId, endpointId);
  world.history.goneMs.set(endpointId, world.time.nowMs());
}

function replaceFound(world: World, found: FoundEndpoint): void {
  const { controlPlane, projectId, endpointId } = found;
  const { branchId, type } = controlPlane.engine.endpoint(projectId, endpointId);
  deleteFound(world, found);
  // If the create of the first one has no answer yet, and no names are shown, no client can tell the two apart.
  const maker = controlPlane.creators.get(endpointId);
  const isOurs = maker !== undefined && !world.history.firstRecords.has(endpointId) && !controlPlane.echoesNames;
  controlPlane.create(projectId, { branchId, type, name: "by-hand" }, isOurs ? maker : { by: "Person" });
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
