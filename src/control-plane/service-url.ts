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
