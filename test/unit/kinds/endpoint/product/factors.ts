/** The factors of a decision, and all their combinations. The plugin is compared with the operator for them. */

/**
 * The factors that decide the next step, and their levels. If a factor has no meaning in a branch of the product, it
 * has only one level there.
 */
export interface Factors {
  readonly isPaused: boolean;
  readonly hasFinalizer: boolean;
  /** `Moved`: spec asks for another branch than that of the endpoint or of the open create. */
  readonly spec: "Fits" | "Moved" | "Broken";
  readonly deletion: "None" | "Default" | "Delete" | "Retain";
  readonly type: "ReadWrite" | "ReadOnly";
  /** `Foreign`: the record was made in another cluster. */
  readonly ownership: "None" | "Unreadable" | "Created" | "Adopted" | "Presumed" | "Foreign";
  readonly remote: "Matches" | "Differs" | "Unverifiable" | "Absent" | "Unproven";
  readonly isOwnOperationInFlight: boolean;
  readonly intent: "None" | "Open";
  /** `Answered`: a create was answered, and no status holds the answer yet. */
  readonly posts: "Refused" | "Unresolved" | "Answered";
  readonly isSettled: boolean;
  readonly resolution: "None" | "Adopt" | "Abandon";
  /** The other endpoint. It is on the branch that the intent or spec names. */
  readonly candidate: "None" | "Nameless" | "OwnToken" | "SiblingToken" | "OtherCluster" | "OtherName";
  readonly echoesNames: boolean;
  /**
   * What the other resource claims. `Owner`: it owns the other endpoint. `OwnsOurs`: it owns ours. `Intent`: it has an
   * open create for the same branch and type. `Elder`: it is older and asks for the same endpoint.
   */
  readonly claims: "None" | "Owner" | "OwnsOurs" | "Intent" | "Elder";
  readonly adoption: "None" | "AdoptOrCreate" | "AdoptOnly";
  readonly isTakeOver: boolean;
}

type Levels = { readonly [Factor in keyof Factors]: readonly Factors[Factor][] };

const either = [false, true] as const;

/** The factors of every resource. */
const everywhere = {
  isPaused: either,
  hasFinalizer: either,
  spec: ["Fits", "Moved", "Broken"],
  deletion: ["None", "Default", "Retain"],
  type: ["ReadWrite", "ReadOnly"],
  candidate: ["None", "Nameless", "OwnToken", "SiblingToken", "OtherCluster", "OtherName"],
  echoesNames: either,
  claims: ["None", "Owner", "Intent", "Elder"],
} as const;

/** One level for each factor without a meaning in a branch, so that it does not multiply the cases of the branch. */
const meaningless = {
  ownership: ["None"],
  remote: ["Absent"],
  isOwnOperationInFlight: [false],
  intent: ["None"],
  posts: ["Unresolved"],
  isSettled: [false],
  resolution: ["None"],
  adoption: ["None"],
  isTakeOver: [false],
} as const;

/** Nothing is recorded, and no create is open. */
const unowned: Levels = {
  ...meaningless,
  ...everywhere,
  ownership: ["None", "Unreadable"],
  posts: ["Unresolved", "Answered"],
  adoption: ["None", "AdoptOrCreate", "AdoptOnly"],
  isTakeOver: either,
};

/** A create under way. */
const creating: Levels = {
  ...meaningless,
  ...everywhere,
  // The engine stores the finalizer first.
  hasFinalizer: [true],
  intent: ["Open"],
  posts: ["Refused", "Unresolved", "Answered"],
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

/** Removes combinations that cannot occur. */
function isImpossible(factors: Factors): boolean {
  const { hasFinalizer, deletion, candidate, echoesNames, resolution, claims, adoption, isTakeOver } = factors;
  const isNamed = !["None", "Nameless"].includes(candidate);
  return (
    // If an endpoint shows a name, the control plane shows names.
    (isNamed && !echoesNames) ||
    // The engine adds the finalizer before a kind decides from reads.
    (!hasFinalizer && deletion === "None") ||
    // A claim to the other endpoint, or an answer that names it, needs that endpoint.
    (claims === "Owner" && candidate === "None") ||
    (resolution === "Adopt" && candidate === "None") ||
    (isTakeOver && adoption === "None")
  );
}

/** Returns the full product of each branch, without combinations that cannot occur. */
export function* product(): Generator<Factors> {
  for (const branch of [unowned, creating, owned]) {
    for (const factors of combinations(branch)) {
      if (!isImpossible(factors)) {
        yield factors;
      }
    }
  }
}

/** Yields every combination of levels. All have one shape, because code reads such objects faster. */
function* combinations(levels: Levels): Generator<Factors> {
  const names = Object.keys(levels) as (keyof Factors)[];
  const total = names.reduce((all, name) => all * levels[name].length, 1);
  const current: Record<string, unknown> = { ...levels };
  for (let index = 0; index < total; index += 1) {
    let rest = index;
    for (const name of names) {
      const { length, [rest % length]: level } = levels[name];
      current[name] = level;
      rest = Math.floor(rest / length);
    }
    yield { ...current } as unknown as Factors;
  }
}
