/** The proxy's connection to the real server. */
import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";

/** A request that is ready to be passed on. */
export interface OutgoingRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly signal: AbortSignal;
}

/** The server behind the proxy. */
export interface Upstream {
  /**
   * Sends the request, and returns when the headers have arrived.
   * @throws Error when the server cannot be reached
   */
  send(request: OutgoingRequest): Promise<IncomingMessage>;
  close(): void;
}

/** @param ca PEM with which the server's certificate is verified; `undefined`: plain HTTP */
export function createUpstream(baseUrl: string, ca: string | undefined): Upstream {
  const isSecure = baseUrl.startsWith("https:");
  const agent = isSecure ? new HttpsAgent({ keepAlive: true, ca }) : new HttpAgent({ keepAlive: true });
  return {
    send({ method, url, headers, body, signal }) {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const options = { method, agent, signal, headers: { ...headers, host: new URL(baseUrl).host } };
      const outgoing = (isSecure ? httpsRequest : httpRequest)(new URL(url, baseUrl), options, resolve);
      outgoing.on("error", reject);
      outgoing.end(body);
      return promise;
    },
    close: () => agent.destroy(),
  };
}
