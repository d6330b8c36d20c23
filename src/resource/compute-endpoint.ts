import { z } from "zod";
import type { StoredIdentity } from "../domain/resource-store.ts";
import { annotations, finalizer, kind } from "./names.ts";
import { type ComputeEndpointSpec, deletionFieldsSchema, specSchema } from "./spec-schema.ts";
import { type ComputeEndpointStatus, statusSchema, trustedStatusSchema } from "./status-schema.ts";

/** A spec as it was stored: the schema may have become stricter since. */
export type ParsedSpec =
  | { readonly kind: "Valid"; readonly spec: ComputeEndpointSpec }
  | {
      readonly kind: "Invalid";
      /** One line that names every bad field. */
      readonly problems: string;
      readonly projectId: string | undefined;
      readonly deletionPolicy: "Delete" | "Retain" | undefined;
    };

/** One custom resource, parsed. Everything in it is as the API server stored it. */
export interface ComputeEndpoint extends StoredIdentity {
  readonly generation: number;
  /** RFC 3339. */
  readonly creationTimestamp: string;
  /** RFC 3339; `undefined`: it is not being deleted. */
  readonly deletionTimestamp: string | undefined;
  readonly finalizers: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: ParsedSpec;
  readonly status: ComputeEndpointStatus;
  /** False when ownership or intent in status cannot be parsed: then the operator changes nothing in the control plane. */
  readonly isOwnershipReadable: boolean;
  /** What the stored ownership record names, also when the rest of the record cannot be parsed. */
  readonly claimed: ClaimedEndpoint;
}

/** The endpoint that a stored ownership record names. A member is `undefined` where the record has no such text. */
export interface ClaimedEndpoint {
  readonly endpointId: string | undefined;
  readonly projectId: string | undefined;
}

const storedSchema = z.object({
  kind: z.literal(kind).optional(),
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    generation: z.int().default(0),
    creationTimestamp: z.string().default(""),
    deletionTimestamp: z.string().optional(),
    finalizers: z.array(z.string()).default([]),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.unknown().optional(),
  status: z.unknown().optional(),
});

/**
 * Reads an object of the API server. A spec or status that does not fit is part of the result, not an error.
 *
 * @throws ZodError when it is of another kind, or the metadata is not that of a stored namespaced object.
 */
export function parseComputeEndpoint(stored: unknown): ComputeEndpoint {
  const { metadata, spec, status } = storedSchema.parse(stored);
  return {
    key: { namespace: metadata.namespace, name: metadata.name },
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    creationTimestamp: metadata.creationTimestamp,
    deletionTimestamp: metadata.deletionTimestamp,
    finalizers: metadata.finalizers,
    annotations: ownAnnotations(metadata.annotations),
    spec: parseSpec(spec),
    ...parseStatus(status),
  };
}

/** Whether its deletion has been requested. */
export function isBeingDeleted(resource: ComputeEndpoint): boolean {
  return resource.deletionTimestamp !== undefined;
}

/** Whether our finalizer holds it. */
export function hasFinalizer(resource: ComputeEndpoint): boolean {
  return resource.finalizers.includes(finalizer);
}

/** Whether a person has asked us to keep our hands off. */
export function isPaused(resource: ComputeEndpoint): boolean {
  return resource.annotations[annotations.paused] === "true";
}

/** The project that a resource names, even when the rest of its spec is broken. */
export function projectIdOf(resource: ComputeEndpoint): string | undefined {
  return resource.spec.kind === "Valid" ? resource.spec.spec.projectId : resource.spec.projectId;
}

/** The one project whose reconcile works on the resource: that of its records, else that of its spec. */
export function workProjectOf(resource: ComputeEndpoint): string {
  const { ownership, createIntent } = resource.status;
  return ownership?.projectId ?? createIntent?.projectId ?? projectIdOf(resource) ?? noProject;
}

/** In place of a project id, for resources that name no project at all. */
export const noProject = "";

/** Every project that its spec or its records name, each once; `noProject` alone if there is none. */
export function projectsOf(resource: ComputeEndpoint): readonly string[] {
  const { claimed, status } = resource;
  const named = [projectIdOf(resource), claimed.projectId, status.createIntent?.projectId];
  const projects = [...new Set(named.filter((projectId) => projectId !== undefined))];
  return projects.length === 0 ? [noProject] : projects;
}

/** What the person asked to happen on deletion; `undefined` when they did not say. */
export function deletionPolicyOf(resource: ComputeEndpoint): "Delete" | "Retain" | undefined {
  return resource.spec.kind === "Valid" ? resource.spec.spec.deletionPolicy : resource.spec.deletionPolicy;
}

/** Annotations of other programs are left out: they would only cost memory. */
function ownAnnotations(all: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const own: readonly string[] = Object.values(annotations);
  return Object.fromEntries(Object.entries(all).filter(([key]) => own.includes(key)));
}

function parseSpec(spec: unknown): ParsedSpec {
  const parsed = specSchema.safeParse(spec);
  if (parsed.success) {
    return { kind: "Valid", spec: parsed.data };
  }
  const fields = z.looseObject({}).catch({}).parse(spec) as Record<string, unknown>;
  return {
    kind: "Invalid",
    problems: problemsOf(parsed.error),
    projectId: deletionFieldsSchema.projectId.safeParse(fields.projectId).data,
    deletionPolicy: deletionFieldsSchema.deletionPolicy.safeParse(fields.deletionPolicy).data,
  };
}

function problemsOf(error: z.ZodError): string {
  return error.issues.map((issue) => `spec${pathOf(issue.path)}: ${issue.message}`).join("; ");
}

function pathOf(path: readonly PropertyKey[]): string {
  return path.map((part) => `.${String(part)}`).join("");
}

function parseStatus(status: unknown): Pick<ComputeEndpoint, "status" | "isOwnershipReadable" | "claimed"> {
  const parsed = statusSchema.safeParse(status ?? {});
  if (parsed.success) {
    return { status: parsed.data, isOwnershipReadable: true, claimed: claimedBy(parsed.data.ownership) };
  }
  const fields = z.looseObject({}).catch({}).parse(status) as Record<string, unknown>;
  const ownership = trustedStatusSchema.ownership.safeParse(fields.ownership);
  const createIntent = trustedStatusSchema.createIntent.safeParse(fields.createIntent);
  return {
    status: { ...readableFields(fields), ownership: ownership.data, createIntent: createIntent.data },
    isOwnershipReadable: ownership.success && createIntent.success,
    claimed: claimedBy(fields.ownership),
  };
}

/** A record of a newer version may have another form, but it still names its endpoint. */
function claimedBy(ownership: unknown): ClaimedEndpoint {
  const { endpointId, projectId } = (ownership ?? {}) as { readonly [member: string]: unknown };
  const textOrNone = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  return { endpointId: textOrNone(endpointId), projectId: textOrNone(projectId) };
}

/** One field that another version or a person wrote must not hide the other fields. Each field is parsed by itself. */
function readableFields(fields: Readonly<Record<string, unknown>>): ComputeEndpointStatus {
  const read = Object.entries(statusSchema.shape).flatMap(([name, schema]) => {
    const { data } = schema.safeParse(fields[name]);
    return data === undefined ? [] : [[name, data]];
  });
  return Object.fromEntries(read) as ComputeEndpointStatus;
}
