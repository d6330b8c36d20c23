/** Sends the requests of the demo to the sandbox. */
import { shellWords } from "./shell-words.ts";

/** A request that the demo shows and sends. */
export interface SandboxRequest {
  readonly method: "GET" | "POST";
  /** The path below the sandbox's origin. */
  readonly path: string;
  /** The body, sent as JSON. */
  readonly body?: object;
}

/** The addresses of the running sandbox. */
export interface SandboxAddress {
  /** The URL without a path. */
  readonly origin: string;
  readonly apiKey: string;
  /** The port of the databases; `undefined`: no database servers run. */
  readonly databasePort: string | undefined;
}

/** The shell variable that holds the API key in commands for people. */
export const keyVariable = "SANDBOX_KEY";

/** The API needs the key. The control API below `/sandbox` does not. */
const needsKey = (path: string) => path.startsWith("/api/");

/** Returns the request as the words of a curl command. Origin and key are shell variables. */
export function curlWords({ method, path, body }: SandboxRequest): readonly string[] {
  return [
    ...["curl", "-s"],
    ...(method === "POST" && body === undefined ? ["-X", "POST"] : []),
    ...(needsKey(path) ? ["-H", `"Authorization: Bearer $${keyVariable}"`] : []),
    ...(body === undefined ? [] : shellWords(["--json", JSON.stringify(body)])),
    `$SANDBOX${path}`,
  ];
}

/** Sends the request. @returns the parsed answer. @throws Error for an answer that is not 2xx */
export async function send(
  { method, path, body }: SandboxRequest,
  { origin, apiKey }: SandboxAddress,
): Promise<unknown> {
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: {
      ...(needsKey(path) ? { authorization: `Bearer ${apiKey}` } : {}),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}
