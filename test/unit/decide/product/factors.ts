/** The factors of a decision, and all their combinations. */

/**
 * The factors on which the next step depends, and their levels. A factor that has no meaning in a branch of the product
 * has one level there.
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
  readonly posts: "NoneSent" | "AllRefused" | "Unresolved";
  /** The answer to a create that is not stored yet. */
  readonly isAnswered: boolean;
  readonly isSettled: boolean;
  readonly resolution: "None" | "Adopt" | "Abandon";
  /** The other endpoint: where the intent or spec points. `Older`: nameless, and created before the intent. */
  readonly candidate: "None" | "Nameless" | "Older" | "OwnToken" | "SiblingToken" | "OtherCluster" | "OtherName";
  readonly echoesNames: boolean;
  /** What the sibling has: the candidate, our own endpoint, an open create in the same place, or an older wish for it. */
  readonly claims: "None" | "Owner" | "OwnsOurs" | "Intent" | "Elder";
  readonly adoption: "None" | "AdoptOrCreate" | "AdoptOnly";
  readonly isTakeOver: boolean;
}

type Levels = { readonly [Factor in keyof Factors]: readonly Factors[Factor][] };

const either = [false, true] as const;

/** Factors of every resource. */
const everywhere = {
  isPaused: either,
  hasFinalizer: either,
  spec: ["Fits", "Moved", "Broken"],
  deletion: ["None", "Default", "Retain"],
  type: ["ReadWrite", "ReadOnly"],
  candidate: ["None", "Nameless", "Older", "OwnToken", "SiblingToken", "OtherCluster", "OtherName"],
  echoesNames: either,
  claims: ["None", "Owner", "Intent", "Elder"],
} as const;

/** One level for each factor that has no meaning in a branch, so that it does not multiply the branch. */
const meaningless = {
  ownership: ["None"],
  remote: ["Absent"],
  isOwnOperationInFlight: [false],
  intent: ["None"],
  posts: ["Unresolved"],
  isAnswered: [false],
  isSettled: [false],
  resolution: ["None"],
  adoption: ["None"],
  isTakeOver: [false],
} as const;

/** Nothing recorded, no create under way. */
const unowned: Levels = {
  ...meaningless,
  ...everywhere,
  ownership: ["None", "Unreadable"],
  isAnswered: either,
  adoption: ["None", "AdoptOrCreate", "AdoptOnly"],
  isTakeOver: either,
};

/** A create under way. */
const creating: Levels = {
  ...meaningless,
  ...everywhere,
  // An intent is recorded under the finalizer only.
  hasFinalizer: [true],
  intent: ["Open"],
  posts: ["NoneSent", "AllRefused", "Unresolved"],
  isAnswered: either,
  isSettled: either,
  resolution: ["None", "Adopt", "Abandon"],
  claims: ["None", "Owner", "Intent"],
};

/** An endpoint recorded. */
const owned: Levels = {
  ...meaningless,
  ...everywhere,
  deletion: ["None", "Default", "Delete", "Retain"],
  ownership: ["Created", "Adopted", "Presumed", "Foreign"],
  remote: ["Matches", "Differs", "Unverifiable", "Absent", "Unproven"],
  isOwnOperationInFlight: either,
  claims: ["None", "Owner", "OwnsOurs", "Intent", "Elder"],
};

/** Combinations that cannot occur. */
function isImpossible(factors: Factors): boolean {
  const { candidate, echoesNames, intent, posts, isAnswered, resolution, claims, adoption, isTakeOver } = factors;
  const isNamed = !["None", "Nameless", "Older"].includes(candidate);
  return (
    // A control plane that shows a name echoes names.
    (isNamed && !echoesNames) ||
    // A post that was answered was sent.
    (intent === "Open" && isAnswered && posts !== "Unresolved") ||
    // A claim to the other endpoint, and an answer that names it, need that endpoint.
    (claims === "Owner" && candidate === "None") ||
    (resolution === "Adopt" && candidate === "None") ||
    (isTakeOver && adoption === "None")
  );
}

/** The full product of each branch, without what cannot occur. */
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
