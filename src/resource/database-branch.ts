import { z } from "zod";
import { noProject } from "./compute-endpoint.ts";
import { planeIdOf, planeIndex, projectKey } from "./control-plane-resource.ts";
import {
  type DatabaseBranchSpec,
  type DatabaseBranchStatus,
  databaseBranchSpecSchema,
  databaseBranchStatusSchema,
} from "./database-branch-schema.ts";
import { databaseBranchNames } from "./names.ts";
import { readableRef } from "./spec-schema.ts";
import { type ParsedAs, parseSpecAs, readableFields, type StoredObject, storedObjectParser } from "./stored-object.ts";

export interface DatabaseBranch extends StoredObject {
  readonly kind: "DatabaseBranch";
  readonly spec: ParsedAs<DatabaseBranchSpec>;
  readonly status: DatabaseBranchStatus;
  /** What deletion and queue need, also of a spec that is not valid. */
  readonly place: { readonly planeId: string; readonly projectId: string; readonly isRetained: boolean };
}

const parseStored = storedObjectParser(databaseBranchNames.kind);
const { projectId, deletionPolicy } = databaseBranchSpecSchema.shape;
const placeSchema = z.object({ projectId, deletionPolicy, controlPlaneRef: readableRef });

/** A spec or status that does not fit is part of the result. @throws ZodError when kind or metadata do not fit */
export function parseDatabaseBranch(stored: unknown): DatabaseBranch {
  const { object, spec, status } = parseStored(stored);
  const asked = readableFields(placeSchema, spec);
  return {
    ...object,
    kind: databaseBranchNames.kind,
    spec: parseSpecAs(databaseBranchSpecSchema, spec),
    status: readableFields(databaseBranchStatusSchema, status),
    place: {
      planeId: planeIdOf(asked.controlPlaneRef, object.key.namespace),
      projectId: asked.projectId ?? noProject,
      isRetained: asked.deletionPolicy === "Retain",
    },
  };
}

/** The key of the project in which the resource is reconciled. Neither part of it can change. */
export function branchProjectKey({ place }: DatabaseBranch): string {
  return place.projectId === noProject ? noProject : projectKey(place.planeId, place.projectId);
}

export function indexesOfBranch(resource: DatabaseBranch): readonly string[] {
  return [branchProjectKey(resource), planeIndex(resource.place.planeId)];
}
