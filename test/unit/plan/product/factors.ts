/**
 * The factors on which the next step depends, and their levels. A factor that a branch of the product does not have
 * means nothing there: what is posted under an intent, for instance, without one.
 */
export interface Factors {
  readonly isPaused: boolean;
  readonly hasFinalizer: boolean;
  /** `Moved`: asks for another branch than where the endpoint or the open create is. */
  readonly spec: "Fits" | "Moved" | "Broken";
  readonly deletion: "None" | "Default" | "Delete" | "Retain";
  readonly type: "ReadWrite" | "ReadOnly";
  /** `Foreign`: the record was made in another cluster. */
  readonly ownership: "None" | "Unreadable" | "Created" | "Adopted" | "Presumed" | "Foreign";
  readonly remote: "Matches" | "Differs" | "Unverifiable" | "Absent" | "Unproven";
  readonly isOwnOperationInFlight: boolean;
  readonly intent: "None" | "Open";
  readonly posts: "NoneSent" | "AllDefinite" | "Unresolved";
  /** The answer to a create that is not stored yet. */
  readonly isAnswered: boolean;
  readonly isIntentFresh: boolean;
  readonly isSettled: boolean;
  readonly resolution: "None" | "Adopt" | "Abandon";
  /** The other endpoint: where the intent or spec points, newer than the intent. */
  readonly candidate: "None" | "Nameless" | "OwnToken" | "SiblingToken" | "OtherName";
  readonly echoesNames: boolean;
  /** What the sibling has: the candidate, an open create in the same place, or an older wish for it. */
  readonly claims: "None" | "Owner" | "Intent" | "Elder";
  readonly adoption: "None" | "AdoptOrCreate" | "AdoptOnly";
  readonly isCreateTurn: boolean;
}

type Levels = { readonly [Factor in keyof Factors]: readonly Factors[Factor][] };

const either = [false, true] as const;

/** What every resource has. */
const everywhere = {
  isPaused: either,
  hasFinalizer: either,
  spec: ["Fits", "Moved", "Broken"],
  deletion: ["None", "Default", "Retain"],
  type: ["ReadWrite", "ReadOnly"],
  candidate: ["None", "Nameless", "OwnToken", "SiblingToken", "OtherName"],
  echoesNames: either,
  claims: ["None", "Owner", "Intent", "Elder"],
} as const;

/** The levels of factors that mean nothing in a branch: one each, so that they do not multiply it. */
const meaningless = {
  ownership: ["None"],
  remote: ["Absent"],
  isOwnOperationInFlight: [false],
  intent: ["None"],
  posts: ["Unresolved"],
  isAnswered: [false],
  isIntentFresh: [true],
  isSettled: [false],
  resolution: ["None"],
  adoption: ["None"],
  isCreateTurn: [true],
} as const;

/** Nothing recorded, no create under way. */
const unowned: Levels = {
  ...meaningless,
  ...everywhere,
  ownership: ["None", "Unreadable"],
  isAnswered: either,
  adoption: ["None", "AdoptOrCreate", "AdoptOnly"],
  isCreateTurn: either,
};

/** A create under way. */
const creating: Levels = {
  ...meaningless,
  ...everywhere,
  // An intent is recorded under the finalizer only.
  hasFinalizer: [true],
  intent: ["Open"],
  posts: ["NoneSent", "AllDefinite", "Unresolved"],
  isAnswered: either,
  isIntentFresh: either,
  isSettled: either,
  resolution: ["None", "Adopt", "Abandon"],
  claims: ["None", "Owner", "Intent"],
  isCreateTurn: either,
};

/** An endpoint recorded. */
const owned: Levels = {
  ...meaningless,
  ...everywhere,
  deletion: ["None", "Default", "Delete", "Retain"],
  ownership: ["Created", "Adopted", "Presumed", "Foreign"],
  remote: ["Matches", "Differs", "Unverifiable", "Absent", "Unproven"],
  isOwnOperationInFlight: either,
};

/** Combinations that cannot come about. */
function isImpossible(factors: Factors): boolean {
  const { candidate, echoesNames, intent, posts, isAnswered, resolution, claims } = factors;
  const isNamed = candidate !== "None" && candidate !== "Nameless";
  return (
    // The project view has seen that the service echoes names as soon as it has seen one.
    (isNamed && !echoesNames) ||
    // A post that was answered was sent.
    (intent === "Open" && isAnswered && posts !== "Unresolved") ||
    // A claim to the other endpoint, and an answer that names it, need that endpoint.
    (claims === "Owner" && candidate === "None") ||
    (resolution === "Adopt" && candidate === "None")
  );
}

/** The full product of each branch, without what cannot come about. */
export function* product(): Generator<Factors> {
  for (const branch of [unowned, creating, owned]) {
    for (const factors of combinations(branch)) {
      if (!isImpossible(factors)) {
        yield factors;
      }
    }
  }
}

function* combinations(levels: Levels): Generator<Factors> {
  const names = Object.keys(levels) as (keyof Factors)[];
  const sizes = names.map((name) => levels[name].length);
  const total = sizes.reduce((all, size) => all * size, 1);
  for (let index = 0; index < total; index += 1) {
    const factors: Record<string, unknown> = {};
    let rest = index;
    for (const [position, name] of names.entries()) {
      const size = sizes[position] ?? 1;
      factors[name] = levels[name][rest % size];
      rest = Math.floor(rest / size);
    }
    yield factors as unknown as Factors;
  }
}
