import type { ControlPlaneSubject } from "../domain/control-plane-error.ts";

export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path below the base URL, with placeholders for ids. */
  readonly template: string;
  /** The call in words. It completes the message "cannot …". */
  readonly purpose: string;
  /** The kind of object that a 404 is about if its message names none. */
  readonly subject: ControlPlaneSubject;
}

const endpoints = "/projects/{project_id}/endpoints";
const endpoint = "/projects/{project_id}/endpoints/{endpoint_id}";
const operations = "/projects/{project_id}/operations";
const operation = "/projects/{project_id}/operations/{operation_id}";
const branch = "/projects/{project_id}/branches/{branch_id}";
const role = `${branch}/roles/{role_name}`;
const database = `${branch}/databases/{database_name}`;

const route = (method: Route["method"], template: string, purpose: string, subject: ControlPlaneSubject): Route => ({
  ...{ method, template, purpose, subject },
});

/** Every call that the operator makes. @see docs/sandbox.md */
export const routes = {
  listEndpoints: route("GET", endpoints, "list the project's endpoints", "Project"),
  getEndpoint: route("GET", endpoint, "read the endpoint", "Endpoint"),
  listOperations: route("GET", operations, "list the project's operations", "Project"),
  getOperation: route("GET", operation, "read the operation", "Operation"),
  createEndpoint: route("POST", endpoints, "create the endpoint", "Project"),
  updateEndpoint: route("PATCH", endpoint, "update the endpoint", "Endpoint"),
  startEndpoint: route("POST", `${endpoint}/start`, "start the compute", "Endpoint"),
  suspendEndpoint: route("POST", `${endpoint}/suspend`, "suspend the compute", "Endpoint"),
  deleteEndpoint: route("DELETE", endpoint, "delete the endpoint", "Endpoint"),
  listRoles: route("GET", `${branch}/roles`, "list the branch's roles", "Branch"),
  createRole: route("POST", `${branch}/roles`, "create the role", "Branch"),
  deleteRole: route("DELETE", role, "delete the role", "Role"),
  revealPassword: route("GET", `${role}/reveal_password`, "read the role's password", "Role"),
  resetPassword: route("POST", `${role}/reset_password`, "reset the role's password", "Role"),
  listDatabases: route("GET", `${branch}/databases`, "list the branch's databases", "Branch"),
  createDatabase: route("POST", `${branch}/databases`, "create the database", "Branch"),
  deleteDatabase: route("DELETE", database, "delete the database", "Database"),
};

/** Fills the placeholders in order. The ids are escaped, so that an id cannot change the path. */
export function pathOf(route: Route, ids: readonly string[]): string {
  const rest = ids.values();
  return route.template.replace(/\{\w+\}/g, () => escapeSegment(rest.next().value ?? ""));
}

/** A segment of one or two dots would lead to another path. It is escaped twice; no object has such an id. */
function escapeSegment(id: string): string {
  return /^\.{1,2}$/.test(id) ? id.replaceAll(".", "%252E") : encodeURIComponent(id.toWellFormed());
}

const shape = "expected http(s)://host[:port]/…/v2 without credentials, query or fragment";

/**
 * Normalizes the URL, so that it can be compared with the one in status.
 * @throws Error that describes a valid URL. It never repeats the text, which may contain a password.
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
