/** Checks whether the API server is ready. */
import { readFile } from "node:fs/promises";
import { Agent, request } from "undici";

/** The address of an API server, and the user for the check. */
export interface ApiServerAddress {
  readonly url: string;
  readonly caFile: string;
  readonly token: string;
}

/** The paths that must answer 200 before an API server counts as ready: its own checks, and the usual namespaces. */
const expectedPaths = ["/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"];

/** Whether the API server is ready. Its certificate is verified. */
export async function isApiServerReady({ url, caFile, token }: ApiServerAddress): Promise<boolean> {
  const ca = await readFile(caFile, "utf8").catch(() => undefined);
  if (ca === undefined) return false;
  const dispatcher = new Agent({ connect: { ca, timeout: 2_000 }, headersTimeout: 5_000, bodyTimeout: 5_000 });
  try {
    for (const path of expectedPaths) {
      const answer = await request(`${url}${path}`, { dispatcher, headers: { authorization: `Bearer ${token}` } });
      await answer.body.dump();
      if (answer.statusCode !== 200) return false;
    }
    return true;
  } catch {
    return false;
  } finally {
    await dispatcher.close();
  }
}
