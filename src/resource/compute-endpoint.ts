import { z } from "zod";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { planeIdOf, planeIndex, projectKey } from "./control-plane-resource.ts";
import { kind } from "./names.ts";
import { type ComputeEndpointSpec, readableRef, specSchema } from "./spec-schema.ts";
import { type ComputeEndpointStatus, statusSchema } from "./status-schema.ts";
import {
  fieldsOf,
  type ParsedAs,
  parseSpecAs,
  readableFields,
  type StoredObject,
  storedObjectParser,
} from "./stored-object.ts";

export type ParsedSpec =
  | Extract<ParsedAs<ComputeEndpointSpec>, { kind: "Valid" }>
  | (Extract<ParsedAs<ComputeEndpointSpec>, { kind: "Invalid" }> & Partial<z.output<typeof deletionFieldsSchema>>);

export interface ComputeEndpoint extends StoredObject {
  readonly spec: ParsedSpec;
  readonly status: ComputeEndpointStatus;
  /** False: ownership record or intent cannot be parsed, so the operator changes nothing in the control plane. */
  readonly isOwnershipReadable: boolean;
  /** The endpoint that the stored ownership record names, even if the rest of the record cannot be parsed. */
  readonly claimedId: string | undefined;
}

const { projectId, branchRef, deletionPolicy, management } = specSchema.shape;
const readable = { projectId, branchRef, deletionPolicy, management, controlPlaneRef: readableRef };
const deletionFieldsSchema = z.object(readable);
const parseStored = storedObjectParser(kind);

/**
 * A spec or status that does not fit the schema is part of the result. One that equals that of `expected` is not parsed
 * again. @throws ZodError when the object is of another kind, or its metadata is not that of a stored object
 */
export function parseComputeEndpoint(stored: unknown, expected?: ComputeEndpoint): ComputeEndpoint {
  const { object, spec, status } = parseStored(stored);
  const isSameSpec = expected?.spec.kind === "Valid" && isSameStored(spec, expected.spec.spec);
  const isSameStatus = expected !== undefined && isSameStored(status ?? {}, expected.status);
  return {
    ...object,
    spec: isSameSpec ? expected.spec : parseSpec(spec),
    ...parseStatus(status, isSameStatus ? expected.status : undefined),
  };
}

/** Returns the fields of spec that a deletion needs, even if the rest of spec is invalid. */
export function deletionFieldsOf({ spec }: ComputeEndpoint) {
  return spec.kind === "Valid" ? spec.spec : spec;
}

/** Whether the operator only reads the endpoint, and changes nothing. */
export function isObserved(resource: ComputeEndpoint): boolean {
  return deletionFieldsOf(resource).management === "Observe";
}

/** Returns the project id in spec, even if the rest of spec is invalid; `undefined`: there is none. */
export function projectIdOf(resource: ComputeEndpoint): string | undefined {
  return deletionFieldsOf(resource).projectId;
}

/** The project of the ownership record, else of the intent, else of the spec; else `noProject`. */
export function workProjectOf(resource: ComputeEndpoint): string {
  const { ownership, createIntent } = resource.status;
  return ownership?.projectId ?? createIntent?.projectId ?? projectIdOf(resource) ?? noProject;
}

/** Returns the id of the control plane that a resource names, even if the rest of its spec is invalid. */
export function planeOf(resource: ComputeEndpoint): string {
  return planeIdOf(deletionFieldsOf(resource).controlPlaneRef, resource.key.namespace);
}

export function workKeyOf(resource: ComputeEndpoint): string {
  return keyAt(planeOf(resource), workProjectOf(resource));
}

/** Returns the key of each project that the resource's spec or records name. If there is none, the key of `noProject`. */
export function projectKeysOf(resource: ComputeEndpoint): readonly string[] {
  const planeId = planeOf(resource);
  return projectsOf(resource).map((projectId) => keyAt(planeId, projectId));
}

/** Returns the key of a project. A resource without a project needs no control plane, so its key does not name one. */
function keyAt(planeId: string, projectId: string): string {
  return projectId === noProject ? noProject : projectKey(planeId, projectId);
}

export function indexesOfEndpoint(resource: ComputeEndpoint): readonly string[] {
  const { branchRef } = deletionFieldsOf(resource);
  const branches = branchRef === undefined ? [] : [branchIndex({ ...resource.key, name: branchRef.name })];
  return [...projectsOf(resource), planeIndex(planeOf(resource)), ...branches];
}

/** Takes the place of the project id for resources that name no project, in the cache and in the work queue. */
export const noProject = "";

/** Returns each project that the spec or the records name; `noProject` alone if there is none. */
export function projectsOf(resource: ComputeEndpoint): readonly string[] {
  const { ownership, createIntent } = resource.status;
  const named = [projectIdOf(resource), ownership?.projectId, createIntent?.projectId];
  const projects = [...new Set(named.filter((projectId) => projectId !== undefined))];
  return projects.length === 0 ? [noProject] : projects;
}

/** The index of the ComputeEndpoints that name a DatabaseBranch. */
export function branchIndex(key: ResourceKey): string {
  return `branch ${keyText(key)}`;
}

function parseSpec(spec: unknown): ParsedSpec {
  const parsed = parseSpecAs(specSchema, spec);
  return parsed.kind === "Valid" ? parsed : { ...parsed, ...readableFields(deletionFieldsSchema, spec) };
}

/** The members of status that decide which endpoint the operator may change. */
const trustedStatusSchema = statusSchema.pick({ ownership: true, createIntent: true });

/** @param known the parsed status, if it is known already */
function parseStatus(stored: unknown, known?: ComputeEndpointStatus) {
  if (known !== undefined) {
    return { status: known, isOwnershipReadable: true, claimedId: known.ownership?.endpointId };
  }
  const fields = fieldsOf(stored);
  // Another version of the operator may have written another form of the record.
  const { endpointId } = fieldsOf(fields.ownership);
  return {
    status: readableFields(statusSchema, fields),
    isOwnershipReadable: trustedStatusSchema.safeParse(fields).success,
    claimedId: typeof endpointId === "string" && endpointId !== "" ? endpointId : undefined,
  };
}
