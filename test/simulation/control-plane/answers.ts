/** Answers the requests of the operator as the sandbox does: with its engine, its schemas and its views. */
import type { z } from "zod";
import type { BranchMutation } from "../../../src/sandbox/engine/branches.ts";
import { profiles } from "../../../src/sandbox/engine/profile.ts";
import {
  annotationView,
  branchCreateBody,
  branchRestoreBody,
  branchUpdateBody,
  branchView,
} from "../../../src/sandbox/http/codecs/branch.ts";
import { databaseView, newRoleView, roleView } from "../../../src/sandbox/http/codecs/branch-objects.ts";
import { timeOf } from "../../../src/sandbox/http/codecs/codec.ts";
import {
  changesOf,
  createBody,
  endpointView,
  listedEndpointView,
  movingEndpointView,
  mutationView,
  updateBody,
} from "../../../src/sandbox/http/codecs/endpoint.ts";
import { operationView } from "../../../src/sandbox/http/codecs/operation.ts";
import type { Request } from "../ports.ts";
import { type Mutation, type OperationRecord, Refusal } from "./engine.ts";
import type { ControlPlaneServer, Creator } from "./server.ts";

/** A request that has reached the control plane. */
export interface Arrived {
  readonly server: ControlPlaneServer;
  readonly request: Pick<Request<unknown>, "method" | "template" | "ids" | "query" | "body">;
  readonly creator: Creator;
}

type Answer = (arrived: Arrived, ids: readonly [string, string, string]) => object;

/** More than any run has. */
const allOperations = 50_000;

const bodies = {
  seed: { create: createBody(profiles.seed), update: updateBody(profiles.seed) },
  public: { create: createBody(profiles.public), update: updateBody(profiles.public) },
};

const project = "/projects/{project_id}";
const endpoint = `${project}/endpoints/{endpoint_id}`;
const branch = `${project}/branches/{branch_id}`;
const role = `${branch}/roles/{role_name}`;

const ofEndpoints: Readonly<Record<string, Answer>> = {
  [`GET ${project}/endpoints`]: ({ server: { engine, unreadable } }, [projectId]) => ({
    endpoints: engine
      .endpoints(projectId)
      .map((record) => (unreadable.has(record.id) ? { id: record.id } : listedEndpointView(record, engine.profile))),
  }),
  [`POST ${project}/endpoints`]: ({ server, request, creator }, [projectId]) => {
    const fields = parsed(request.body, bodies[server.engine.profile.name].create).endpoint;
    const creation = { ...changesOf(fields), branchId: fields.branch_id, type: fields.type };
    return changed(server, server.create(projectId, creation, creator));
  },
  [`GET ${endpoint}`]: ({ server: { engine } }, [projectId, id]) => ({
    endpoint: movingEndpointView(engine.endpoint(projectId, id), engine.profile),
  }),
  [`PATCH ${endpoint}`]: ({ server, request }, [projectId, endpointId]) => {
    const { engine } = server;
    const changes = changesOf(parsed(request.body, bodies[engine.profile.name].update).endpoint);
    return changed(server, engine.updateEndpoint(projectId, { endpointId, changes }));
  },
  [`POST ${endpoint}/start`]: ({ server }, [projectId, id]) =>
    changed(server, server.engine.startEndpoint(projectId, id)),
  [`POST ${endpoint}/suspend`]: ({ server }, [projectId, id]) =>
    changed(server, server.engine.suspendEndpoint(projectId, id)),
  [`DELETE ${endpoint}`]: ({ server }, [projectId, id]) => {
    const mutation = server.engine.deleteEndpoint(projectId, id);
    return { ...changed(server, mutation), endpoint: endpointView(mutation.endpoint, server.engine.profile) };
  },
};

const ofOperations: Readonly<Record<string, Answer>> = {
  [`GET ${project}/operations`]: ({ server, request: { query = {} } }, [projectId]) => {
    const { engine, calendar } = server;
    // Newest first by the times that are shown.
    const all = engine
      .operations(projectId, { limit: allOperations, after: undefined })
      .toSorted((a, b) => calendar.shownMs(b.createdMs) - calendar.shownMs(a.createdMs));
    const { limit = "", cursor } = query;
    const from = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
    const operations = all.slice(from, from + Number(limit));
    const next = from + Number(limit) < all.length ? operations.at(-1)?.id : undefined;
    return { operations: operations.map((record) => shown(server, record)), pagination: { cursor: next } };
  },
  [`GET ${project}/operations/{operation_id}`]: ({ server }, [projectId, id]) => ({
    operation: shown(server, server.engine.operation(projectId, id)),
  }),
};

const ofObjects: Readonly<Record<string, Answer>> = {
  [`GET ${branch}/roles`]: ({ server }, [projectId, branchId]) => ({
    roles: server.engine.objects.roles(projectId, branchId).map(roleView),
  }),
  [`POST ${branch}/roles`]: ({ server, request }, [projectId, branchId]) => {
    const path = { projectId, branchId, roleName: roleOf(request) };
    const made = server.engine.objects.createRole(path, { canLogIn: true });
    return { ...started(server, made), role: newRoleView(made.role) };
  },
  [`DELETE ${role}`]: ({ server }, ids) => {
    const deleted = server.engine.objects.deleteRole(named(ids));
    return { ...started(server, deleted), role: roleView(deleted.role) };
  },
  [`GET ${role}/reveal_password`]: ({ server }, ids) => ({ password: server.engine.objects.password(named(ids)) }),
  [`POST ${role}/reset_password`]: ({ server }, ids) => {
    const reset = server.engine.objects.resetPassword(named(ids));
    return { ...started(server, reset), role: newRoleView(reset.role) };
  },
  [`GET ${branch}/databases`]: ({ server }, [projectId, branchId]) => ({
    databases: server.engine.objects.databases(projectId, branchId).map(databaseView),
  }),
  [`POST ${branch}/databases`]: ({ server, request }, [projectId, branchId]) => {
    const { database } = request.body as { readonly database: { readonly name: string; readonly owner_name: string } };
    const path = { projectId, branchId, databaseName: database.name };
    const made = server.engine.objects.createDatabase(path, database.owner_name);
    return { ...started(server, made), database: databaseView(made.database) };
  },
  [`DELETE ${branch}/databases/{database_name}`]: ({ server }, ids) => {
    const deleted = server.engine.objects.deleteDatabase(named(ids));
    return { ...started(server, deleted), database: databaseView(deleted.database) };
  },
};

const ofBranches: Readonly<Record<string, Answer>> = {
  [`GET ${project}/branches`]: ({ server: { engine } }, [projectId]) => {
    const branches = engine.branches(projectId);
    const annotations = Object.fromEntries(branches.map((record) => [record.id, annotationView(record)]));
    return { branches: branches.map((record) => branchView(record, engine)), annotations };
  },
  [`GET ${branch}`]: ({ server: { engine } }, [projectId, branchId]) => {
    const record = engine.branch(projectId, branchId);
    return { branch: branchView(record, engine), annotation: annotationView(record) };
  },
  [`POST ${project}/branches`]: ({ server, request }, [projectId]) => {
    const { branch: fields, annotation_value: annotation } =
      parsed(request.body, branchCreateBody(profiles.public)) ?? {};
    const made = server.engine.createBranch(projectId, {
      name: fields?.name,
      parentId: fields?.parent_id,
      protected: false,
      endpoints: [],
      initSource: fields?.init_source,
      expiresMs: timeOf(fields?.expires_at),
      annotation,
    });
    return branchChange(server, made);
  },
  [`PATCH ${branch}`]: ({ server, request }, [projectId, branchId]) => {
    const { expires_at: expires } = parsed(request.body, branchUpdateBody).branch;
    const expiresMs = expires === null ? null : timeOf(expires);
    return branchChange(server, server.engine.updateBranch({ projectId, branchId }, { expiresMs }));
  },
  [`POST ${branch}/restore`]: ({ server, request }, [projectId, branchId]) => {
    const { source_branch_id: sourceBranchId } = parsed(request.body, branchRestoreBody);
    const restore = { sourceBranchId, sourceMs: undefined, preserveUnderName: undefined };
    return branchChange(server, server.engine.restores.restoreBranch({ projectId, branchId }, restore));
  },
  [`DELETE ${branch}`]: ({ server }, [projectId, branchId]) =>
    branchChange(server, server.engine.deleteBranch(projectId, branchId)),
};

function branchChange(server: ControlPlaneServer, { branch: record, operations }: BranchMutation) {
  server.noteStarted(operations);
  return { branch: branchView(record, server.engine), ...started(server, { operations }) };
}

const answers = { ...ofBranches, ...ofEndpoints, ...ofOperations, ...ofObjects };

/** @throws Refusal */
export function answerOf(arrived: Arrived): unknown {
  const { method, template, ids } = arrived.request;
  const answer = answers[`${method} ${template}`];
  if (answer === undefined) throw new Error(`the simulated control plane has no ${method} ${template}`);
  return arrived.server.calendar.dated(answer(arrived, ids as Parameters<Answer>[1]));
}

export function roleOf({ body }: Pick<Request<unknown>, "body">): string {
  return (body as { readonly role: { readonly name: string } }).role.name;
}

function named([projectId, branchId, name]: Parameters<Answer>[1]) {
  return { projectId, branchId, roleName: name, databaseName: name };
}

/** @throws Refusal Invalid, as the sandbox's HTTP layer does */
function parsed<Body>(body: unknown, schema: z.ZodType<Body>): Body {
  const { data, error } = schema.safeParse(body);
  if (data === undefined) throw new Refusal("Invalid", `${error?.issues[0]?.message}`);
  return data;
}

function changed(server: ControlPlaneServer, mutation: Mutation) {
  server.noteStarted(mutation.operations);
  return { ...mutationView(mutation, server.engine.profile), ...started(server, mutation) };
}

function started(server: ControlPlaneServer, { operations }: Pick<Mutation, "operations">) {
  return { operations: operations.map((record) => shown(server, record)) };
}

function shown({ engine, disguises }: ControlPlaneServer, record: OperationRecord) {
  const view = operationView(record, engine.profile);
  return { ...view, status: disguises.get(record.id)?.status ?? view.status };
}
