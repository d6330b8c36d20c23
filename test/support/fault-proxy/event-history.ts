/** Remembers the last events of a watch. */

const capacity = 200;

/** The last events that went through the proxy, so that they can be sent again. */
export class EventHistory {
  readonly #lines: string[] = [];

  /**
   * Remembers an event.
   * @param line a line of a watch, without its end. A line that is no event of an object is ignored.
   */
  note(line: string): void {
    if (!/^\{"type":"(ADDED|MODIFIED|DELETED)"/.test(line)) return;
    this.#lines.push(line);
    if (this.#lines.length > capacity) this.#lines.shift();
  }

  /** Returns the remembered lines, oldest first. */
  lines(): readonly string[] {
    return [...this.#lines];
  }
}
