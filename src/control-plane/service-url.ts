const shape = "expected http(s)://host[:port]/…/v2 without credentials, query or fragment";

/**
 * Checks the base URL of the control plane and returns it in the form that ownership records contain.
 *
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
  // Compared with the text as well: an empty query ("?") leaves no trace in the parsed URL.
  if (url.search !== "" || url.hash !== "" || /[?#]/.test(text)) {
    throw new Error(`the URL must not have a query or a fragment: ${shape}`);
  }
  const path = url.pathname.replace(/\/+$/, "");
  if (!path.endsWith("/v2")) {
    throw new Error(`the path must end in /v2: ${shape}`);
  }
  return url.origin + path;
}
