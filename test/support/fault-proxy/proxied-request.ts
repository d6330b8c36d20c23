/** Parses the requests that pass the proxy. */

/** The API server's words for the action of a request. */
export type RequestVerb = "get" | "list" | "watch" | "create" | "patch" | "update" | "delete";

/** A request as the API server would understand it. */
export interface ProxiedRequest {
  readonly verb: RequestVerb;
  /** The plural, for instance `computeendpoints` or `leases`; "" if the path names no resource. */
  readonly resource: string;
  /** "" for none. */
  readonly subresource: string;
  /** The URL with its query. */
  readonly url: string;
  /** Milliseconds on the proxy's clock. */
  readonly atMs: number;
  /** The port of the client's socket. Equal ports mean the same connection. */
  readonly remotePort: number | undefined;
}

/** Which requests match. An absent field matches everything. */
export type RequestMatch = Partial<Pick<ProxiedRequest, "verb" | "resource" | "subresource">>;

/** Reads method and URL. */
export function parseProxiedRequest(
  method: string,
  url: string,
): Pick<ProxiedRequest, "verb" | "resource" | "subresource" | "url"> {
  const { pathname, searchParams } = new URL(url, "http://proxy");
  const segments = pathname.split("/").filter((segment) => segment !== "");
  // /api/VERSION/… or /apis/GROUP/VERSION/…
  const afterVersion = segments.slice(segments[0] === "apis" ? 3 : 2);
  const isNamespaced = afterVersion[0] === "namespaces" && afterVersion.length > 2;
  const [resource = "", name, subresource = ""] = isNamespaced ? afterVersion.slice(2) : afterVersion;
  return { verb: verbOf(method, name, searchParams.get("watch") === "true"), resource, subresource, url };
}

/** Whether the request matches. */
export function isMatch(request: ProxiedRequest, match: RequestMatch): boolean {
  return Object.entries(match).every(([field, value]) => request[field as keyof RequestMatch] === value);
}

function verbOf(method: string, name: string | undefined, isWatch: boolean): RequestVerb {
  switch (method) {
    case "POST":
      return "create";
    case "PATCH":
      return "patch";
    case "PUT":
      return "update";
    case "DELETE":
      return "delete";
    default:
      return isWatch ? "watch" : name === undefined ? "list" : "get";
  }
}
