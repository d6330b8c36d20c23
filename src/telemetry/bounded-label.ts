/** Longer words than this are no words of the service. */
const longestValue = 64;

/** Stands for all values beyond the bound. */
export const otherLabel = "other";

/** Turns an open string into a label value, of which there are never more than the bound. */
export type BoundedLabel = (value: string) => string;

/**
 * Keeps a label from growing without end: the first `limit` different values pass, every later one becomes `other`.
 *
 * @param limit how many values pass. The service has about 36 actions today.
 */
export function createBoundedLabel(limit: number): BoundedLabel {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) {
      return value;
    }
    if (seen.size >= limit || value === "" || value.length > longestValue) {
      return otherLabel;
    }
    seen.add(value);
    return value;
  };
}
