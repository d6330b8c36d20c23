/** The routes of the control plane, and the check of its base URL. */
import type { ControlPlaneSubject } from "../domain/control-plane-error.ts";

/** One call of the control plane: how it is sent, counted and named in messages. */
export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path below the base URL, with placeholders for ids. */
  readonly template: string;
  /** The call in words. It completes the message "cannot …". */
  readonly purpose: string;
  /** What a 404 is about if its message names nothing. */
  readonly subject: ControlPlaneSubject;
}

const endpoints = "/projects/{project_id}/endpoints";
const endpoint = "/projects/{project_id}/endpoints/{endpoint_id}";
const operations = "/projects/{project_id}/operations";
const operation = "/projects/{project_id}/operations/{operation_id}";
const branch = "/projects/{project_id}/branches/{branch_id}";
const role = `${branch}/roles/{role_name}`;
const database = `${branch}/databases/{database_name}`;

/** Every call that the operator makes. @see docs/sandbox.md */
export const routes = {
  listEndpoints: { method: "GET", template: endpoints, purpose: "list the project's endpoints", subject: "Project" },
  getEndpoint: { method: "GET", template: endpoint, purpose: "read the endpoint", subject: "Endpoint" },
  listOperations: { method: "GET", template: operations, purpose: "list the project's operations", subject: "Project" },
  getOperation: { method: "GET", template: operation, purpose: "read the operation", subject: "Operation" },
  createEndpoint: { method: "POST", template: endpoints, purpose: "create the endpoint", subject: "Project" },
  updateEndpoint: { method: "PATCH", template: endpoint, purpose: "update the endpoint", subject: "Endpoint" },
  startEndpoint: { method: "POST", template: `${endpoint}/start`, purpose: "start the compute", subject: "Endpoint" },
  suspendEndpoint: {
    method: "POST",
    template: `${endpoint}/suspend`,
    purpose: "suspend the compute",
    subject: "Endpoint",
  },
  deleteEndpoint: { method: "DELETE", template: endpoint, purpose: "delete the endpoint", subject: "Endpoint" },
  listRoles: { method: "GET", template: `${branch}/roles`, purpose: "list the branch's roles", subject: "Branch" },
  createRole: { method: "POST", template: `${branch}/roles`, purpose: "create the role", subject: "Branch" },
  deleteRole: { method: "DELETE", template: role, purpose: "delete the role", subject: "Role" },
  revealPassword: {
    method: "GET",
    template: `${role}/reveal_password`,
    purpose: "read the role's password",
    subject: "Role",
  },
  resetPassword: {
    method: "POST",
    template: `${role}/reset_password`,
    purpose: "reset the role's password",
    subject: "Role",
  },
  listDatabases: {
    method: "GET",
    template: `${branch}/databases`,
    purpose: "list the branch's databases",
    subject: "Branch",
  },
  createDatabase: {
    method: "POST",
    template: `${branch}/databases`,
    purpose: "create the database",
    subject: "Branch",
  },
  deleteDatabase: { method: "DELETE", template: database, purpose: "delete the database", subject: "Database" },
} as const satisfies Record<string, Route>;

/** Fills the placeholders in order. The ids are escaped, so that an id cannot change the path. */
export function pathOf(route: Route, ids: readonly string[]): string {
  const rest = ids.values();
  return route.template.replace(/\{\w+\}/g, () => escapeSegment(rest.next().value ?? ""));
}

/**
 * Escapes one segment of a path. `encodeURIComponent` leaves dots unchanged, and a segment of one or two dots means
 * another path. Such a segment is escaped twice; no object has such an id.
 */
function escapeSegment(id: string): string {
  return /^\.{1,2}$/.test(id) ? id.replaceAll(".", "%252E") : encodeURIComponent(id.toWellFormed());
}

const shape = "expected http(s)://host[:port]/…/v2 without credentials, query or fragment";

/**
 * Checks the base URL of the control plane and returns it in the form of ownership records.
 * @returns the URL without a trailing slash, scheme and host in lower case.
 * @throws Error whose message describes a valid URL. It never repeats the text, which may contain a password.
 * @see docs/control-plane.md, "Address"
 */
export function parseServiceUrl(text: string): string {
  const url = URL.parse(text.trim());
  if (url === null) {
    throw new Error(`not a URL: ${shape}`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new Error(`the scheme must be http or https: ${shape}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new Error(`the URL must not hold credentials, the key has a setting of its own: ${shape}`);
  }
  // The text itself is checked, because the parsed URL does not show an empty query ("?").
  if (url.search !== "" || url.hash !== "" || /[?#]/.test(text)) {
    throw new Error(`the URL must not have a query or a fragment: ${shape}`);
  }
  const path = url.pathname.replace(/\/+$/, "");
  if (!path.endsWith("/v2")) {
    throw new Error(`the path must end in /v2: ${shape}`);
  }
  return url.origin + path;
}
