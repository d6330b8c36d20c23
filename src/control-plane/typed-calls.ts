/** The methods of `ControlPlane`: each one makes a request and hands it to `call`. */
import type { BranchChange, BranchPath, ObservedBranch } from "../domain/branch.ts";
import type { ControlPlane, Mutation, ObjectChange, RoleChange } from "../domain/control-plane.ts";
import { ControlPlaneError, type ControlPlaneSubject } from "../domain/control-plane-error.ts";
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import type { AnswerTexts, Call, Request } from "./call.ts";
import type { ListReport } from "./unreadable-objects.ts";
import {
  answers,
  branchBody,
  endpointBody,
  listIn,
  objects,
  presentText,
  readEach,
  readEntries,
  readValue,
} from "./wire.ts";

/** @see docs/sandbox.md */
const projectPath = "/projects/{project_id}";
const endpointPath = `${projectPath}/endpoints/{endpoint_id}`;
const branchPath = `${projectPath}/branches/{branch_id}`;

type Place = Pick<Request<unknown>, "subject" | "template" | "ids" | "query" | "body">;
type Read<Value> = Request<Value>["read"];

/** @param subject the kind of object that a 404 is about if its message names none */
function at(subject: ControlPlaneSubject, template: string, ...ids: readonly string[]): Place {
  return { subject, template, ids };
}

/** @param purpose completes "cannot …" */
function to(method: Request<unknown>["method"]) {
  return <Value>(place: Place, purpose: string, read: Read<Value>): Request<Value> => ({
    method,
    purpose,
    ...place,
    read,
  });
}

const [get, post, patch, remove] = [to("GET"), to("POST"), to("PATCH"), to("DELETE")];

interface TypedCallsOptions {
  readonly serviceUrl: string;
  readonly call: Call;
  readonly onListed?: ListReport | undefined;
}

export function controlPlaneOf({ serviceUrl, call, onListed = () => {} }: TypedCallsOptions): ControlPlane {
  return {
    serviceUrl,
    ...endpointCalls(call, onListed),
    ...operationCalls(call, onListed),
    ...objectCalls(call),
    ...branchCalls(call, onListed),
  };
}

function endpointCalls(call: Call, onListed: ListReport) {
  return {
    listEndpoints: (projectId) =>
      call(
        get(at("Project", `${projectPath}/endpoints`, projectId), "list the project's endpoints", (json) => {
          const { entries: endpoints, unreadableIds } = readEntries(listIn(json, "endpoints"), objects.endpoint);
          onListed(projectId, "endpoints", unreadableIds);
          return { endpoints, unreadableIds };
        }),
      ),
    getEndpoint: (...ids) =>
      unlessAbsent(call, get(at("Endpoint", endpointPath, ...ids), "read the endpoint", endpointOf)),
    createEndpoint: (projectId, creation) => {
      const place = { ...at("Project", `${projectPath}/endpoints`, projectId), body: endpointBody(creation) };
      return call(post(place, "create the endpoint", mutationOf));
    },
    updateEndpoint: (projectId, id, changes) => {
      const place = { ...at("Endpoint", endpointPath, projectId, id), body: endpointBody(changes) };
      return call(patch(place, "update the endpoint", mutationOf));
    },
    changePower: (projectId, id, action) => {
      const place = at("Endpoint", `${endpointPath}/${action}`, projectId, id);
      return call(post(place, `${action} the compute`, mutationOf));
    },
    deleteEndpoint: (...ids) =>
      unlessAbsent(call, remove(at("Endpoint", endpointPath, ...ids), "delete the endpoint", mutationOf)),
  } satisfies Partial<ControlPlane>;
}

function operationCalls(call: Call, onListed: ListReport) {
  return {
    listOperations: (projectId, { limit, cursor }) => {
      const query = { limit: String(limit), ...(cursor !== undefined && { cursor }) };
      const place = { ...at("Project", `${projectPath}/operations`, projectId), query };
      return call(
        get(place, "list the project's operations", (json, { clean }) => {
          const list = listIn(json, "operations", limit);
          const { entries, unreadableIds } = readEntries(list, objects.operation);
          // Only the newest page is reported: the operations on older pages were reported before.
          if (cursor === undefined) onListed(projectId, "operations", unreadableIds);
          // An empty page is the last one, whatever cursor it has.
          const next = list.length === 0 ? undefined : presentText(readValue(json, answers.page).pagination?.cursor);
          return { operations: entries.map(cleaned(clean)), unreadableIds, cursor: next };
        }),
      );
    },
    getOperation: (...ids) =>
      unlessAbsent(
        call,
        get(at("Operation", `${projectPath}/operations/{operation_id}`, ...ids), "read the operation", (json, texts) =>
          cleaned(texts.clean)(readValue(json, answers.operation).operation),
        ),
      ),
  } satisfies Partial<ControlPlane>;
}

function objectCalls(call: Call) {
  const inBranch = (template: string, { projectId, branchId }: BranchPath) =>
    at("Branch", `${branchPath}/${template}`, projectId, branchId);
  const ofRole = (template: string, { projectId, branchId }: BranchPath, name: string) =>
    at("Role", `${branchPath}/roles/{role_name}${template}`, projectId, branchId, name);
  return {
    branchUnitSeconds: ({ projectId, branchId }) =>
      call(
        get(at("Branch", branchPath, projectId, branchId), "read the branch", (json) => {
          return readValue(json, answers.branchUsage).branch.compute_time_seconds ?? undefined;
        }),
      ),
    listRoles: (branch) =>
      call(
        get(inBranch("roles", branch), "list the branch's roles", (json) =>
          readEach(listIn(json, "roles"), objects.role).map(({ name, updatedTime }) => ({ name, updatedTime })),
        ),
      ),
    createRole: (branch, name) => {
      const place = { ...inBranch("roles", branch), body: { role: { name } } };
      return call(post(place, "create the role", roleChangeOf));
    },
    deleteRole: (branch, name) => unlessAbsent(call, remove(ofRole("", branch, name), "delete the role", roleChangeOf)),
    revealPassword: (branch, name) =>
      call(
        get(ofRole("/reveal_password", branch, name), "read the role's password", (json, texts) =>
          texts.password(readValue(json, answers.password).password),
        ),
      ).catch((error: unknown) => {
        if (error instanceof ControlPlaneError && error.reason === "PreconditionFailed") return undefined;
        throw error;
      }),
    resetPassword: (branch, name) =>
      call(post(ofRole("/reset_password", branch, name), "reset the role's password", roleChangeOf)),
    listDatabases: (branch) =>
      call(
        get(inBranch("databases", branch), "list the branch's databases", (json) =>
          readEach(listIn(json, "databases"), objects.database),
        ),
      ),
    createDatabase: (branch, { name, ownerName }) => {
      const body = { database: { name, owner_name: ownerName } };
      const place = { ...inBranch("databases", branch), body };
      return call(post(place, "create the database", databaseChangeOf));
    },
    deleteDatabase: ({ projectId, branchId }, name) => {
      const place = at("Database", `${branchPath}/databases/{database_name}`, projectId, branchId, name);
      return unlessAbsent(call, remove(place, "delete the database", databaseChangeOf));
    },
  } satisfies Partial<ControlPlane>;
}

function branchCalls(call: Call, onListed: ListReport) {
  const ofProject = (projectId: string) => at("Project", `${projectPath}/branches`, projectId);
  const of = ({ projectId, branchId }: BranchPath, template = branchPath) =>
    at("Branch", template, projectId, branchId);
  return {
    listBranches: (projectId) => {
      const place = { ...ofProject(projectId), query: { limit: "10000" } };
      return call(
        get(place, "list the project's branches", (json) => {
          const { entries, unreadableIds } = readEntries(listIn(json, "branches"), objects.branch);
          const { annotations } = readValue(json, answers.annotations);
          onListed(projectId, "branches", unreadableIds);
          const noted = (id: string) => ({ annotation: annotations?.[id] ?? {} });
          const unreadable = unreadableIds.map((id) => ({ id, ...noted(id) }));
          const branches = entries.map((each) => ({ ...each, ...noted(each.id) }));
          return annotations === undefined ? undefined : { branches, unreadable };
        }),
      ).catch((error: unknown) => {
        if (error instanceof ControlPlaneError && [404, 405, 501].includes(error.status ?? 0)) return undefined;
        throw error;
      });
    },
    getBranch: (branch) => unlessAbsent(call, get(of(branch), "read the branch", branchOf)),
    createBranch: (projectId, creation) => {
      const place = { ...ofProject(projectId), body: branchBody(creation) };
      return call(post(place, "create the branch", branchChangeOf));
    },
    setBranchExpiry: (branch, expiresTime) => {
      const place = { ...of(branch), body: { branch: { expires_at: expiresTime } } };
      return call(patch(place, "set when the branch expires", branchChangeOf));
    },
    resetBranch: (branch, parentId) => {
      const place = { ...of(branch, `${branchPath}/restore`), body: { source_branch_id: parentId } };
      return call(post(place, "reset the branch to its parent", branchChangeOf));
    },
    deleteBranch: (branch) => unlessAbsent(call, remove(of(branch), "delete the branch", branchChangeOf)),
  } satisfies Partial<ControlPlane>;
}

const branchOf: Read<ObservedBranch> = (json) => {
  const { branch, annotation } = readValue(json, answers.branch);
  return { ...branch, annotation: annotation ?? {} };
};

const branchChangeOf: Read<BranchChange> = (json, texts) => ({
  branch: branchOf(json, texts),
  operations: startedBy(json, texts),
});

const endpointOf: Read<ObservedEndpoint> = (json) => readValue(json, answers.endpoint).endpoint;

const mutationOf: Read<Mutation> = (json, texts) => ({
  endpoint: endpointOf(json, texts),
  operations: startedBy(json, texts),
});

/** The answer may hold a new password. */
const roleChangeOf: Read<RoleChange> = (json, texts) => {
  const { name, updatedTime, password } = readValue(json, answers.role).role;
  return {
    role: { name, updatedTime },
    password: typeof password === "string" ? texts.password(password) : undefined,
    operations: startedBy(json, texts),
  };
};

const databaseChangeOf: Read<ObjectChange> = (json, texts) => {
  readValue(json, answers.database);
  return { operations: startedBy(json, texts) };
};

/** The operations that a write started: none if the answer has no such list. */
function startedBy(json: unknown, { clean }: AnswerTexts): readonly Operation[] {
  const { operations = null } = json as { readonly operations?: unknown };
  return operations === null ? [] : readEach(listIn(json, "operations"), objects.operation).map(cleaned(clean));
}

function cleaned(clean: AnswerTexts["clean"]) {
  return (found: Operation): Operation => ({ ...found, error: found.error && clean(found.error) });
}

/**
 * Returns `undefined` if the answer is a documented 404 about the object, or a 204 to its deletion. What was
 * in a deleted branch is gone too. A 404 about the project is thrown: the key may have lost its access.
 */
async function unlessAbsent<Value>(call: Call, request: Request<Value>): Promise<Value | undefined> {
  try {
    return await call<Value | undefined>({
      ...request,
      read: (json, texts) =>
        json === undefined && request.method === "DELETE" ? undefined : request.read(json, texts),
    });
  } catch (error) {
    const isNotFound = error instanceof ControlPlaneError && error.reason === "NotFound";
    if (isNotFound && error.subject !== "Project") {
      return undefined;
    }
    throw error;
  }
}
