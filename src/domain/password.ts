const hidden = "[redacted]";

/**
 * A password on its way from the control plane to a Secret. Everything that prints or serializes it shows `[redacted]`;
 * only `reveal` returns the text.
 */
export class Password {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the password as text. Only the code that writes the Secret may call it. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return hidden;
  }

  toJSON(): string {
    return hidden;
  }

  /** Returns the text that Node prints for this object: `[redacted]`. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return hidden;
  }
}
