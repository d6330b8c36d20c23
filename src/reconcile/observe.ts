import type { Clock } from "../domain/clock.ts";
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { ProjectReading } from "../domain/project-view.ts";
import type { ResourceStore } from "../domain/resource-store.ts";
import { type Claim, claimOfTheGone, claimsOf } from "../plan/claims.ts";
import type { CreateTurn, LocalObservation, Memory, Observation, RemoteState } from "../plan/observation.ts";
import { type ComputeEndpoint, projectIdOf } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { Ledger } from "./ledger.ts";
import { type ReadingAgeContext, readingSinceMs } from "./reading-age.ts";
import type { Service } from "./service.ts";

/** What observing needs. It reads only, save that it takes the turn of a create it may lead to. */
export interface ObserveContext extends ReadingAgeContext {
  readonly clock: Clock;
  readonly store: ResourceStore<ComputeEndpoint, ComputeEndpointStatus>;
  readonly ledger: Ledger;
  readonly service: Service;
}

/** Gathers what is known without the service. */
export function observeLocal(context: ObserveContext, resource: ComputeEndpoint): LocalObservation {
  const { clock, ledger, service } = context;
  const { createIntent } = resource.status;
  if (createIntent !== undefined) {
    ledger.intentSeen(resource.key, resource.uid, { attempt: createIntent.attempt, nowMs: clock.monotonicMs() });
  }
  return {
    nowMs: clock.nowMs(),
    resource,
    identity: service.identity,
    claims: observeClaims(context, resource),
    memory: ledger.memoryOf(resource.uid),
  };
}

/**
 * What the others claim at this very moment, ownership that is on its way into their status included. To decide by it
 * nothing may be awaited in between: two passes would each find the same endpoint free.
 */
export function observeClaims({ store, ledger, service }: ObserveContext, resource: ComputeEndpoint): readonly Claim[] {
  const projectId = serviceProjectOf(resource);
  const others = projectId === undefined ? [] : store.inProject(projectId);
  const claims = claimsOf(others, resource.uid, service.identity.clusterId).map((claim) => ({
    ...claim,
    ownedEndpointId: claim.ownedEndpointId ?? ledger.unstoredEndpointOf(claim.uid),
  }));
  const known = new Set([resource.uid, ...claims.map(({ uid }) => uid)]);
  // A resource that is gone still holds what its create made, until that is deleted.
  const ofTheGone = ledger.unrecorded().filter(({ uid }) => !known.has(uid));
  return [...claims, ...ofTheGone.map(({ key, uid, endpointId }) => claimOfTheGone(key, uid, endpointId))];
}

/**
 * Completes the observation with what the service shows.
 *
 * @param sinceMs the reading has begun no earlier: monotonic milliseconds. @default as early as will do to plan from
 * @throws ControlPlaneError when a read fails.
 */
export async function observeService(
  context: ObserveContext,
  local: LocalObservation,
  sinceMs?: number,
): Promise<Observation> {
  const { service } = context;
  const { resource } = local;
  const projectId = serviceProjectOf(resource);
  if (projectId === undefined) {
    throw new Error("a resource without a project got past planLocally");
  }
  const createTurn = takeTurn(context, local);
  watchOwnOperations(context, projectId, resource);
  const project = await service.view.read(projectId, sinceMs ?? readingSinceMs(context, local));
  service.lanes.observe(project);
  return {
    ...local,
    nowMs: context.clock.nowMs(),
    project,
    remote: await observeRemote(context, local, project),
    createTurn,
  };
}

/** The project in which a resource acts: where its endpoint or open create is, else where spec wants it. */
export function serviceProjectOf(resource: ComputeEndpoint): string | undefined {
  const { ownership, createIntent } = resource.status;
  return ownership?.projectId ?? createIntent?.projectId ?? projectIdOf(resource);
}

/** Gone is proven by a list without it and a 404 by id, both begun after our last write. */
async function observeRemote(
  { service }: ObserveContext,
  { resource, memory }: LocalObservation,
  project: ProjectReading,
): Promise<RemoteState> {
  const { ownership } = resource.status;
  if (ownership === undefined) {
    return { kind: "NotOwned" };
  }
  const listed = project.endpoints.find(({ id }) => id === ownership.endpointId);
  if (listed !== undefined && !isBehind(listed, memory)) {
    return { kind: "Present", endpoint: listed };
  }
  // Lists may lag: what the list does not show, or shows older than our own write left it, is asked for by id.
  const byId = await service.controlPlane.getEndpoint(project.projectId, ownership.endpointId);
  if (byId !== undefined) {
    return isBehind(byId, memory) ? { kind: "Unproven" } : { kind: "Present", endpoint: byId };
  }
  const isListNewEnough = memory.lastWriteMs === undefined || project.asOfMs >= memory.lastWriteMs;
  // An entry that could not be read may be this endpoint.
  const mayBeListed = ["", ownership.endpointId].some((id) => project.unreadableEndpointIds.includes(id));
  return listed === undefined && isListNewEnough && !mayBeListed ? { kind: "Absent" } : { kind: "Unproven" };
}

/** Older than what our own last write answered, by the service's own clock. */
function isBehind(endpoint: ObservedEndpoint, { lastAnswer }: Memory): boolean {
  return lastAnswer?.id === endpoint.id && Date.parse(endpoint.updatedTime) < Date.parse(lastAnswer.updatedTime);
}

/** Lists may lag and a restart forgets, so the view is told what status waits for: our own calls, and what is to be counted. */
function watchOwnOperations({ service }: ObserveContext, projectId: string, { status }: ComputeEndpoint): void {
  for (const operation of status.operations ?? []) {
    if (operation.cause === "SpecChange" && operation.durationMilliseconds === undefined) {
      service.view.watchOperation(projectId, operation.id);
    }
  }
  for (const id of status.operationWatermark?.unfinishedIds ?? []) {
    service.view.watchOperation(projectId, id);
  }
}

const noTurnWanted: CreateTurn = { kind: "Waiting", waitedMs: 0, stillMs: 0 };

/** A reading that a create is decided by is from after the last write to the project: it shows what the create before made. */
function takeTurn({ service }: ObserveContext, { resource, claims }: LocalObservation): CreateTurn {
  const { ownership, createIntent } = resource.status;
  if (ownership !== undefined) {
    return noTurnWanted;
  }
  if (createIntent !== undefined) {
    return service.turns.tryTake(createIntent, resource.uid, resource.key);
  }
  if (resource.spec.kind === "Invalid") {
    return noTurnWanted;
  }
  const { projectId, branchId, type } = resource.spec.spec;
  const place = { projectId, branchId, type };
  for (const { key, uid, openIntent, isStalled } of claims) {
    if (openIntent?.branchId === branchId && openIntent.type === type && !isStalled) {
      // An open create has the turn, also one that this process has not looked at yet.
      service.turns.tryTake(place, uid, key);
    }
  }
  return service.turns.tryTake(place, resource.uid, resource.key);
}
