/** Sends requests to the API server as kubectl does. */
import type { KubernetesCall, KubernetesConnection } from "../../src/kubernetes/http/connection.ts";
import { waitUntil } from "./wait-until.ts";

/** How long the API server asks its clients to wait, in milliseconds. */
const retryAfterMs = 1_000;

/** Sends the request again while the API server answers 429. After a start it answers so until it has read etcd. */
export async function requestPatiently(connection: KubernetesConnection, call: KubernetesCall): Promise<unknown> {
  const send = async () => {
    try {
      return { answer: await connection.request(call) };
    } catch (error) {
      if ((error as { readonly reason?: string }).reason === "Throttled") return undefined;
      throw error;
    }
  };
  const { answer } = await waitUntil(send, { what: `${call.what} is not throttled`, pauseMs: retryAfterMs });
  return answer;
}
