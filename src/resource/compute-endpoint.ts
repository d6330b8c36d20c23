/** Parses ComputeEndpoints from the API server, and reads which project and control plane they belong to. */
import { isSameStored } from "../domain/same-stored.ts";
import {
  type ControlPlaneRef,
  planeIdOf,
  projectKey,
  settingsPlane,
  unreadablePlane,
} from "./control-plane-resource.ts";
import { annotations, finalizer, kind } from "./names.ts";
import { type ComputeEndpointSpec, deletionFieldsSchema, specSchema } from "./spec-schema.ts";
import { type ComputeEndpointStatus, statusSchema, trustedStatusSchema } from "./status-schema.ts";
import {
  fieldsOf,
  type ParsedAs,
  parseSpecAs,
  readableFields,
  type StoredObject,
  storedObjectParser,
} from "./stored-object.ts";

/** The stored spec, parsed. The fields that a deletion needs are read even if the spec is invalid. */
export type ParsedSpec =
  | Extract<ParsedAs<ComputeEndpointSpec>, { kind: "Valid" }>
  | (Extract<ParsedAs<ComputeEndpointSpec>, { kind: "Invalid" }> & {
      readonly controlPlaneRef: ControlPlaneRef | "Unreadable" | undefined;
      readonly projectId: string | undefined;
      readonly deletionPolicy: "Delete" | "Retain" | undefined;
    });

/** One ComputeEndpoint, parsed. Everything in it is as the API server stored it. */
export interface ComputeEndpoint extends StoredObject {
  readonly spec: ParsedSpec;
  readonly status: ComputeEndpointStatus;
  /** False: ownership record or intent cannot be parsed, so the operator changes nothing in the control plane. */
  readonly isOwnershipReadable: boolean;
  /** The endpoint that the stored ownership record names, even if the rest of the record cannot be parsed. */
  readonly claimed: ClaimedEndpoint;
}

/** The endpoint that a stored ownership record names. A member is `undefined` if the record has no such text. */
export interface ClaimedEndpoint {
  readonly endpointId: string | undefined;
  readonly projectId: string | undefined;
}

const parseStored = storedObjectParser(kind);

/**
 * Parses a ComputeEndpoint from the API server. A spec or status that does not fit the schema is part of the result,
 * not an error.
 * @param expected what the object should hold, for instance after a write of ours. A spec or status that is equal to it
 *   is not parsed again.
 * @throws ZodError when the object is of another kind, or its metadata is not that of a stored namespaced object.
 */
export function parseComputeEndpoint(stored: unknown, expected?: ComputeEndpoint): ComputeEndpoint {
  const { object, spec, status } = parseStored(stored);
  const isSameSpec = expected?.spec.kind === "Valid" && isSameStored(spec, expected.spec.spec);
  const isSameStatus = expected !== undefined && isSameStored(status ?? {}, expected.status);
  return {
    ...object,
    spec: isSameSpec ? expected.spec : parseSpec(spec),
    ...(isSameStatus ? readableStatus(expected.status) : parseStatus(status)),
  };
}

/** Whether the deletion of the resource has been requested. */
export function isBeingDeleted(resource: StoredObject): boolean {
  return resource.deletionTimestamp !== undefined;
}

/** Whether the resource has our finalizer. */
export function hasFinalizer(resource: ComputeEndpoint): boolean {
  return resource.finalizers.includes(finalizer);
}

/** Whether the annotation `paused` asks the operator to write nothing but status. */
export function isPaused(resource: StoredObject): boolean {
  return resource.annotations[annotations.paused] === "true";
}

/** Returns the fields of spec that a deletion needs, even if the rest of spec is invalid. */
function deletionFieldsOf({ spec }: ComputeEndpoint) {
  return spec.kind === "Valid" ? spec.spec : spec;
}

/** Returns the project id in spec, even if the rest of spec is invalid; `undefined`: there is none. */
export function projectIdOf(resource: ComputeEndpoint): string | undefined {
  return deletionFieldsOf(resource).projectId;
}

/**
 * Returns the id of the project that reconciles the resource: the project of its ownership record, else of its intent,
 * else of its spec; `noProject` if none of them names one.
 */
export function workProjectOf(resource: ComputeEndpoint): string {
  const { ownership, createIntent } = resource.status;
  return ownership?.projectId ?? createIntent?.projectId ?? projectIdOf(resource) ?? noProject;
}

/** Returns the id of the control plane that a resource names, even if the rest of its spec is invalid. */
export function planeOf(resource: ComputeEndpoint): string {
  const ref = deletionFieldsOf(resource).controlPlaneRef;
  return ref === "Unreadable" ? unreadablePlane : planeIdOf(ref, resource.key.namespace);
}

/** Returns the key of the project that reconciles the resource. */
export function workKeyOf(resource: ComputeEndpoint): string {
  return keyAt(planeOf(resource), workProjectOf(resource));
}

/** Returns the key of each project that the resource's spec or records name. If there is none, the key of `noProject`. */
export function projectKeysOf(resource: ComputeEndpoint): readonly string[] {
  const planeId = planeOf(resource);
  const projects = projectsOf(resource);
  return planeId === settingsPlane ? projects : projects.map((projectId) => keyAt(planeId, projectId));
}

/** Returns the key of a project. A resource without a project needs no control plane, so its key does not name one. */
function keyAt(planeId: string, projectId: string): string {
  return projectId === noProject ? noProject : projectKey(planeId, projectId);
}

/**
 * Returns the keys under which the cache finds the resource: its projects, and the id of the control plane that it
 * names.
 */
export function indexesOfEndpoint(resource: ComputeEndpoint): readonly string[] {
  const planeId = planeOf(resource);
  const projects = projectsOf(resource);
  return planeId === settingsPlane ? projects : [...projects, planeId];
}

/** Takes the place of the project id for resources that name no project, in the cache and in the work queue. */
export const noProject = "";

/** Returns each project that the spec or the records name; `noProject` alone if there is none. */
export function projectsOf(resource: ComputeEndpoint): readonly string[] {
  const { claimed, status } = resource;
  const named = [projectIdOf(resource), claimed.projectId, status.createIntent?.projectId];
  const projects = [...new Set(named.filter((projectId) => projectId !== undefined))];
  return projects.length === 0 ? [noProject] : projects;
}

/** Returns `spec.deletionPolicy`; `undefined`: it is not set or cannot be parsed. */
export function deletionPolicyOf(resource: ComputeEndpoint): "Delete" | "Retain" | undefined {
  return deletionFieldsOf(resource).deletionPolicy;
}

function parseSpec(spec: unknown): ParsedSpec {
  const parsed = parseSpecAs(specSchema, spec);
  if (parsed.kind === "Valid") {
    return parsed;
  }
  const fields = fieldsOf(spec);
  return {
    ...parsed,
    controlPlaneRef: readableRef(fields.controlPlaneRef),
    projectId: deletionFieldsSchema.projectId.safeParse(fields.projectId).data,
    deletionPolicy: deletionFieldsSchema.deletionPolicy.safeParse(fields.deletionPolicy).data,
  };
}

/**
 * Parses a reference. A reference that cannot be parsed must not count as absent: an absent one stands for the control
 * plane of the settings.
 */
function readableRef(ref: unknown): ControlPlaneRef | "Unreadable" | undefined {
  const parsed = deletionFieldsSchema.controlPlaneRef.safeParse(ref);
  return parsed.success ? parsed.data : "Unreadable";
}

type ParsedStatus = Pick<ComputeEndpoint, "status" | "isOwnershipReadable" | "claimed">;

function readableStatus(status: ComputeEndpointStatus): ParsedStatus {
  return { status, isOwnershipReadable: true, claimed: claimedBy(status.ownership) };
}

function parseStatus(status: unknown): ParsedStatus {
  const parsed = statusSchema.safeParse(status ?? {});
  if (parsed.success) {
    return readableStatus(parsed.data);
  }
  const fields = fieldsOf(status);
  const ownership = trustedStatusSchema.ownership.safeParse(fields.ownership);
  const createIntent = trustedStatusSchema.createIntent.safeParse(fields.createIntent);
  return {
    status: { ...readableFields(statusSchema, fields), ownership: ownership.data, createIntent: createIntent.data },
    isOwnershipReadable: ownership.success && createIntent.success,
    claimed: claimedBy(fields.ownership),
  };
}

/**
 * Reads the endpoint from an ownership record, even if a newer version of the operator has written another form of
 * record.
 */
function claimedBy(ownership: unknown): ClaimedEndpoint {
  const { endpointId, projectId } = (ownership ?? {}) as { readonly [member: string]: unknown };
  const textOrNone = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  return { endpointId: textOrNone(endpointId), projectId: textOrNone(projectId) };
}
