/** Holds texts that many objects have in common, once. */
export interface TextPool {
  /** An equal text: the one that is held already, if there is one. */
  share<Text extends string | undefined>(text: Text): Text;
  /** How many are held. */
  readonly size: number;
}

/** @param limit so many are held at most; a full pool begins anew, so that texts nobody says any more do not stay. */
export function createTextPool(limit: number): TextPool {
  const held = new Map<string, string>();
  return {
    share<Text extends string | undefined>(text: Text): Text {
      if (text === undefined) {
        return text;
      }
      const known = held.get(text);
      if (known !== undefined) {
        return known as Text;
      }
      if (held.size >= limit) {
        held.clear();
      }
      held.set(text, text);
      return text;
    },
    get size() {
      return held.size;
    },
  };
}
