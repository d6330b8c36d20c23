/** Recognizes registries on this machine. */

/**
 * Whether a registry is on this machine's loopback. Such registries have no certificate, so they are reached by http.
 * Pure.
 * @param reference a registry, or an image in one, for instance `127.0.0.1:5000/endpoint-operator:0.1.0`.
 */
export function isLoopbackRegistry(reference: string): boolean {
  const [host = ""] = reference.split("/");
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/.test(host);
}
