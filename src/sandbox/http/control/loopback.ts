/** Whether only this machine can reach an address: an IP of the loopback network, or `localhost`. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "").toLowerCase();
  return bare === "localhost" || bare === "::1" || /^127(?:\.\d{1,3}){3}$/.test(bare);
}

/** The host part of a `Host` header. */
export function hostnameOf(header: string | undefined): string {
  return (header ?? "").replace(/:\d+$/, "");
}
