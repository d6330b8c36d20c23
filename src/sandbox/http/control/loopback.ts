/** Whether only this machine can reach an address: an IP of the loopback network, or `localhost`. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "").toLowerCase();
  return bare === "localhost" || bare === "::1" || /^127(?:\.\d{1,3}){3}$/.test(bare);
}

/** The host part of a `Host` header. */
export function hostnameOf(header: string | undefined): string {
  return (header ?? "").replace(/:\d+$/, "");
}

/**
 * Whether a page that is not of this machine sends the request. Browsers say whose page it is, and let any page send
 * what has no body; nothing else says it.
 *
 * @param origin the header `Origin`.
 */
export function isForeignPage(origin: string | undefined): boolean {
  return origin !== undefined && !isLoopback(URL.parse(origin)?.hostname ?? "");
}
