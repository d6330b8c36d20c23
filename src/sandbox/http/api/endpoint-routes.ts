/** Compute endpoints. */
import type { EndpointRecord } from "../../engine/records.ts";
import { Refusal } from "../../engine/refusal.ts";
import {
  changesOf,
  createBody,
  endpointView,
  listedEndpointView,
  movingEndpointView,
  mutationView,
  updateBody,
} from "../codecs/endpoint.ts";
import { operationViews } from "../codecs/operation.ts";
import { ListBody } from "../parts/lists.ts";
import type { PublicApi } from "./public-api.ts";

export function endpointRoutes(api: PublicApi): void {
  const { engine } = api.parts;
  const { profile } = engine;
  const list = new ListBody<EndpointRecord>("endpoints", (endpoint) => listedEndpointView(endpoint, profile));
  const unknown = profile.endpointExtras.includes("name") ? [] : ["endpoint.name"];
  api.play("listProjectEndpoints", {}, ({ ids }) => list.of(engine.endpoints(ids.projectId)));
  api.play("listProjectBranchEndpoints", {}, ({ ids }) => {
    const { id } = engine.branch(ids.projectId, ids.branchId);
    const endpoints = engine.endpoints(ids.projectId).filter(({ branchId }) => branchId === id);
    return { endpoints: endpoints.map((endpoint) => listedEndpointView(endpoint, profile)) };
  });
  api.play("getProjectEndpoint", {}, ({ ids }) => ({
    endpoint: movingEndpointView(engine.endpoint(ids.projectId, ids.endpointId), profile),
  }));
  api.play("createProjectEndpoint", { body: createBody(profile), unknown }, ({ ids, body: { endpoint } }) => {
    const { branch_id: branchId, type, region_id: regionId } = endpoint;
    const region = engine.project(ids.projectId).regionId;
    if (regionId !== undefined && regionId !== region) {
      throw new Refusal("Invalid", `endpoint.region_id: must be ${region}, the project's region`);
    }
    return mutationView(engine.createEndpoint(ids.projectId, { ...changesOf(endpoint), branchId, type }), profile);
  });
  api.play("updateProjectEndpoint", { body: updateBody(profile), unknown }, ({ ids, body }) => {
    const update = { endpointId: ids.endpointId, changes: changesOf(body.endpoint) };
    return mutationView(engine.updateEndpoint(ids.projectId, update), profile);
  });
  const parentOf = ({ projectId }: { readonly projectId: string }) => engine.project(projectId);
  api.play("deleteProjectEndpoint", { parentOf }, ({ ids }) => {
    const { endpoint, operations } = engine.deleteEndpoint(ids.projectId, ids.endpointId);
    return { endpoint: endpointView(endpoint, profile), operations: operationViews(operations, profile) };
  });
  for (const [name, call] of [
    ["start", engine.startEndpoint],
    ["suspend", engine.suspendEndpoint],
    ["restart", engine.restartEndpoint],
  ] as const) {
    api.play(`${name}ProjectEndpoint`, {}, ({ ids }) => mutationView(call(ids.projectId, ids.endpointId), profile));
  }
}
