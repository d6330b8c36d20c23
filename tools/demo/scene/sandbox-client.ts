import { shellWords } from "./shell-words.ts";

/** A request as the story shows it and makes it. */
export interface SandboxRequest {
  readonly method: "GET" | "POST";
  /** Below the sandbox's origin. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: object;
  /** Whether the API key goes along: the API needs it, the control API does not. */
  readonly isAuthorized: boolean;
}

/** The running sandbox, as its clients know it. */
export interface SandboxAddress {
  /** Without a path. */
  readonly origin: string;
  readonly apiKey: string;
  /** The port of the databases; `undefined`: no database servers run. */
  readonly databasePort: string | undefined;
}

/** Name of the shell variable that holds the API key in commands for people. */
export const keyVariable = "SANDBOX_KEY";

/** The same request as a command for people, a word each; origin and key are shell variables. */
export function curlWords({ method, path, body, isAuthorized }: SandboxRequest): readonly string[] {
  return [
    ...["curl", "-s"],
    ...(method === "POST" && body === undefined ? ["-X", "POST"] : []),
    ...(isAuthorized ? ["-H", `"Authorization: Bearer $${keyVariable}"`] : []),
    ...(body === undefined ? [] : shellWords(["--json", JSON.stringify(body)])),
    `$SANDBOX${path}`,
  ];
}

/** Makes the request. @returns the parsed answer. @throws Error unless it answers 2xx */
export async function send(
  { method, path, body, isAuthorized }: SandboxRequest,
  { origin, apiKey }: SandboxAddress,
): Promise<unknown> {
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: {
      ...(isAuthorized ? { authorization: `Bearer ${apiKey}` } : {}),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}
