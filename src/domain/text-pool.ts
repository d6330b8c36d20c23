/** Saves memory: many objects share one copy of each equal text. */

/** Keeps one copy of each text that many objects share. */
export interface TextPool {
  /** Returns an equal text: the one in the pool if there is one, else the given one. */
  share<Text extends string | undefined>(text: Text): Text;
  readonly size: number;
}

/**
 * Makes a text pool.
 * @param limit the maximum number of texts; a full pool is emptied, so that unused texts do not stay
 */
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
