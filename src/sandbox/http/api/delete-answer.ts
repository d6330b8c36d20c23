import type { FastifyReply } from "fastify";
import type { Profile } from "../../engine/profile.ts";
import { Refusal } from "../../engine/refusal.ts";

/** What a DELETE does. */
export interface Deletion<B> {
  /** @throws Refusal */
  readonly remove: () => B;
  /** Throws when what holds the object is itself missing: that stays an error in every profile. */
  readonly requireParent: () => unknown;
}

/** Deletes and answers; of what is not there, as the profile says. */
export function answerDelete<B>(reply: FastifyReply, profile: Profile, { remove, requireParent }: Deletion<B>) {
  try {
    return reply.send(remove());
  } catch (error) {
    const isMissing = error instanceof Refusal && error.reason === "NotFound";
    if (!isMissing || profile.deleteOfMissing === 404) throw error;
    requireParent();
    return reply.code(204).send();
  }
}
