const hidden = "[redacted]";

/**
 * A password on its way from the control plane to a Secret. Everything that prints or serializes it shows `[redacted]`:
 * only `reveal` gives the text.
 */
export class Password {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The password itself. Call it only where the Secret is written. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return hidden;
  }

  toJSON(): string {
    return hidden;
  }

  /** What Node prints. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return hidden;
  }
}
