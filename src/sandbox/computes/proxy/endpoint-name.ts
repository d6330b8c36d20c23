/** Finds the endpoint that a client wants to reach. */

/** The endpoint that a client names. Each endpoint has two host names: a direct one and a pooled one. */
export interface EndpointName {
  readonly endpointId: string;
  readonly isPooled: boolean;
}

const pooledSuffix = "-pooler";

function nameOf(text: string): EndpointName {
  const isPooled = text.endsWith(pooledSuffix);
  return { endpointId: isPooled ? text.slice(0, -pooledSuffix.length) : text, isPooled };
}

/**
 * Reads the endpoint from the host name in the client's TLS handshake (SNI): it is the first label.
 * @returns `undefined` for a missing name, and for a name with one label, such as `localhost`
 */
export function endpointOfServerName(serverName: string | false | null | undefined): EndpointName | undefined {
  if (typeof serverName !== "string" || !serverName.includes(".")) return undefined;
  const [label = ""] = serverName.toLowerCase().split(".");
  return label === "" ? undefined : nameOf(label);
}

/**
 * Reads `endpoint=<id>` from the startup parameter `options`, and removes it, because PostgreSQL does not know it.
 * @returns the endpoint, and `options` without it; `undefined`: nothing is left
 */
export function endpointOfOptions(options: string | undefined): {
  readonly endpoint: EndpointName | undefined;
  readonly options: string | undefined;
} {
  const words = (options ?? "").split(/(?<!\\)\s+/).filter((word) => word !== "");
  const found = words.findLast((word) => word.startsWith("endpoint="));
  const rest = words.filter((word) => !word.startsWith("endpoint=")).join(" ");
  return {
    endpoint: found === undefined ? undefined : nameOf(found.slice("endpoint=".length)),
    options: rest === "" ? undefined : rest,
  };
}

/**
 * Reads `endpoint=<id>;` or `endpoint=<id>$` from the start of a password, and removes it. @returns `undefined` if the
 * password does not begin so
 */
export function endpointOfPassword(
  password: string,
): { readonly endpoint: EndpointName; readonly password: string } | undefined {
  const [prefix, id] = /^endpoint=([a-z0-9-]+)[;$]/.exec(password) ?? [];
  return id === undefined ? undefined : { endpoint: nameOf(id), password: password.slice(prefix?.length) };
}

/** The error for a client that names no endpoint. Its hint says what to add. */
export const noEndpointError = {
  code: "08004",
  message: "the connection names no endpoint",
  hint:
    "Connect to the host name of the endpoint by TLS, or add options=endpoint%3D<endpoint id> to the connection string, " +
    "or put endpoint=<endpoint id>; before the password.",
} as const;
