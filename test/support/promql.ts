/** Reads selectors and labels in PromQL. */

/** A selector of series in a PromQL expression. `labels` has the matchers for equality only. */
export interface Selector {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The series and labels that an expression uses. */
export interface ExpressionParts {
  readonly selectors: readonly Selector[];
  /** The labels after `by` and `on`, each once. */
  readonly groupedBy: readonly string[];
}

const operators = ["and", "or", "unless", "bool", "offset"];

/**
 * Finds the selectors and groupings of an expression by its text. This is enough for the rules and panels of this
 * repository.
 * @throws Error for text that it cannot parse, so that nothing is skipped silently
 */
export function readExpression(expression: string): ExpressionParts {
  const groupedBy = new Set<string>();
  const groupings = /\b(by|on|group_left|group_right)\s*\(([^)]*)\)/g;
  const rest = expression.replaceAll(groupings, (_all, _word, list: string) => {
    for (const label of list.split(",")) if (label.trim() !== "") groupedBy.add(label.trim());
    return " ";
  });
  if (/\b(without|ignoring)\b/.test(rest)) throw new Error(`not known here: ${expression}`);
  const selectors: Selector[] = [];
  const words = /([a-zA-Z_:][\w:]*)\s*(\(|\{[^}]*\})?(?:\[[^\]]*\])?/g;
  for (const [, word = "", next = ""] of withoutNumbers(rest).matchAll(words)) {
    if (next !== "(" && !operators.includes(word)) selectors.push({ metric: word, labels: matchersOf(next) });
  }
  return { selectors, groupedBy: [...groupedBy] };
}

/** `1e3` and `0.1` contain no name. Durations are in brackets, which are parsed with their selector. */
function withoutNumbers(text: string): string {
  return text.replaceAll(/(?<![\w:])\d[\w.]*(?![^[]*\])/g, " ");
}

function matchersOf(braces: string): Readonly<Record<string, string>> {
  const inside = braces.replaceAll(/^\{|\}$/g, "").trim();
  if (inside === "") return {};
  return Object.fromEntries(
    inside.split(",").flatMap((matcher) => {
      const [, label, operator, value] = /^\s*(\w+)\s*(!?=)\s*"([^"]*)"\s*$/.exec(matcher) ?? [];
      if (label === undefined || value === undefined) throw new Error(`not known here: ${matcher}`);
      return operator === "=" ? [[label, value]] : [];
    }),
  );
}
