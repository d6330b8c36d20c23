import { LeaderFenceError } from "../domain/leader-fence.ts";
import { KubernetesError } from "../domain/resource-store.ts";

/** An answer that is not what an API server sends. */
export class UnreadableAnswerError extends Error {
  override readonly name: string = "UnreadableAnswerError";
}

/** An answer that is longer than we are willing to hold. */
export class AnswerTooLongError extends UnreadableAnswerError {
  override readonly name = "AnswerTooLongError";
}

/** Whether a call failed because its answer was too long. */
export function isTooLong(error: unknown): boolean {
  return error instanceof KubernetesError && error.cause instanceof AnswerTooLongError;
}

/**
 * Reads a whole body.
 *
 * @throws AnswerTooLongError when it is longer than `maxBytes`.
 */
export async function readBounded(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) {
      throw new AnswerTooLongError(`longer than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** @throws UnreadableAnswerError; never with the text in it. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableAnswerError("not JSON");
  }
}

/**
 * The error for a call that got no usable answer. One that is a `KubernetesError` already stays as it is, and so does one
 * that says that nothing was sent.
 *
 * @param isTimedOut whether our own deadline ended it.
 */
export function errorForTransport(
  what: string,
  error: unknown,
  isTimedOut: boolean,
): KubernetesError | LeaderFenceError {
  if (error instanceof KubernetesError || error instanceof LeaderFenceError) {
    return error;
  }
  if (isTimedOut) {
    return new KubernetesError("TimedOut", `cannot ${what}: no answer in time`, { cause: error });
  }
  if (error instanceof UnreadableAnswerError) {
    return new KubernetesError("UnreadableAnswer", `cannot ${what}: the answer is ${error.message}`, { cause: error });
  }
  const code = codeOf(error);
  const why = code === undefined ? "" : ` (${code})`;
  return new KubernetesError("Unavailable", `cannot ${what}: the API server cannot be reached${why}`, { cause: error });
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  if (typeof code === "string") {
    return code;
  }
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? undefined : codeOf(cause);
}
