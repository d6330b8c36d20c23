/** What list and reads by id show of one endpoint. By id is the truth. */
import type { ObservedEndpoint, ProjectSnapshot } from "../../domain/endpoint.ts";

type RemoteState =
  /** A read by id shows the endpoint. */
  | { readonly kind: "Present"; readonly endpoint: ObservedEndpoint }
  /** Only the list shows the endpoint. That proves no more than that nothing is to be done. */
  | { readonly kind: "Listed"; readonly endpoint: ObservedEndpoint }
  /** A read by id was answered 404, after the project was listed. */
  | { readonly kind: "Absent" }
  /** The list does not show the endpoint, and no read by id was answered. */
  | { readonly kind: "Unknown" };

export function remoteStateOf({ endpoints, readsById }: ProjectSnapshot, endpointId: string): RemoteState {
  const endpoint = endpoints.get(endpointId);
  if (readsById.has(endpointId)) {
    return endpoint === undefined ? { kind: "Absent" } : { kind: "Present", endpoint };
  }
  return endpoint === undefined ? { kind: "Unknown" } : { kind: "Listed", endpoint };
}
