/** What this process knows of the create whose note status holds. Each change of that knowledge is one function here. */
import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { PutOffError } from "../domain/leader-fence.ts";

/** What this process knows about the requests under one stored note of a create. */
export interface Posts<Answer> {
  /** Names the note. */
  readonly attempt: string;
  /** False: each request under the note was refused or answered, or none was sent. */
  readonly isUnresolved: boolean;
  /** When this process first saw the note or last sent a request under it, in monotonic milliseconds. */
  readonly sinceMs: number;
  /** The answer, until a status holds it. */
  readonly answer: Answer | undefined;
}

interface Memory<Answer> {
  posts: Posts<Answer> | undefined;
}

/** A stored status was seen. If it holds a note that is new to this process, an earlier one may have sent a request. */
export function notePostsOf<Answer>(
  memory: Memory<Answer>,
  stored: { readonly attempt: string | undefined; readonly hasResult: boolean | undefined },
  nowMs: number,
): void {
  const { attempt } = stored;
  if (attempt !== undefined && attempt !== memory.posts?.attempt) {
    memory.posts = { attempt, isUnresolved: true, sinceMs: nowMs, answer: undefined };
  }
  const { posts } = memory;
  if (posts?.answer !== undefined && (stored.hasResult ?? attempt !== posts.attempt)) {
    memory.posts = undefined;
  }
}

/** A note is about to be stored: no request was sent under it. @param attempt `undefined`: the change is no create */
export function beginPosts<Answer>(memory: Memory<Answer>, attempt: string | undefined, nowMs: number): void {
  if (attempt !== undefined && memory.posts?.attempt !== attempt) {
    memory.posts = { attempt, isUnresolved: false, sinceMs: nowMs, answer: undefined };
  }
}

/** Sends one request under a note. Until it is answered, it may take effect at any moment. @throws what `send` throws */
export async function postUnder<Answer>(
  { memory, attempt, clock }: { memory: Memory<Answer>; readonly attempt: string | undefined; readonly clock: Clock },
  send: () => Promise<Answer>,
): Promise<Answer> {
  if (attempt === undefined) {
    return await send();
  }
  const { posts: before } = memory;
  memory.posts = { attempt, isUnresolved: true, sinceMs: clock.monotonicMs(), answer: undefined };
  try {
    const answer = await send();
    memory.posts = { attempt, isUnresolved: false, sinceMs: clock.monotonicMs(), answer };
    return answer;
  } catch (error) {
    // A refusal says nothing about an earlier request under the same note.
    if (isNeverApplied(error)) memory.posts = before;
    throw error;
  }
}

/** After any other error, also after a bug of ours, the request may have had an effect. */
function isNeverApplied(error: unknown): boolean {
  return error instanceof PutOffError || (error instanceof ControlPlaneError && error.effect === "NotApplied");
}
