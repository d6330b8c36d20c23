/** No word of the control plane is longer. */
const longestValue = 64;

/** Stands for all values beyond the bound. */
export const otherLabel = "other";

/** Turns an open string into a label value, of which there are never more than the bound. */
export type BoundedLabel = (value: string) => string;

/**
 * Bounds the values of a label: the first `limit` different values are kept, every later one becomes `other`.
 *
 * @param limit the maximum number of values that are kept.
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
