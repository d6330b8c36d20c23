/** Passes a watch through the proxy, with faults. */
import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "../../../src/domain/clock.ts";
import type { EventHistory } from "./event-history.ts";
import type { StreamFault } from "./fault.ts";
import type { InjectedFault } from "./injected-fault.ts";
import type { ProxiedRequest } from "./proxied-request.ts";

/** The parts of a stream. */
export interface WatchStreamOptions {
  readonly request: ProxiedRequest;
  /** The answer to the client. Its headers have been sent. */
  readonly response: ServerResponse;
  readonly history: EventHistory;
  readonly clock: Clock;
  /** Resets the client's connection. */
  readonly cut: () => void;
}

/** A watch that passes the proxy, line by line. */
export class WatchStream {
  readonly request: ProxiedRequest;
  readonly #options: WatchStreamOptions;
  readonly #timers = new Set<Timer>();
  #rest = "";
  #truncation:
    | { readonly fault: StreamFault & { readonly kind: "Truncate" }; readonly injected: InjectedFault }
    | undefined;
  #isOver = false;
  #isSilent = false;

  constructor(options: WatchStreamOptions) {
    this.request = options.request;
    this.#options = options;
  }

  /** Whether the events of the server still get through. */
  get isAlive(): boolean {
    return !this.#isOver && !this.#isSilent;
  }

  /** Takes bytes from the server. They may end at any place. */
  receive(chunk: string): void {
    const lines = `${this.#rest}${chunk}`.split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#passOn(line);
  }

  /** Ends the stream, because the server has closed the watch. If the watch is muted, the client does not notice. */
  finish(): void {
    if (this.isAlive) this.#end();
  }

  /** Applies the fault to this watch: now, or as soon as there is a line to which it can be applied. */
  hit(fault: StreamFault, injected: InjectedFault): void {
    if (fault.kind === "Truncate") {
      this.#truncation = { fault, injected };
      return;
    }
    const afterMs = "afterMs" in fault ? (fault.afterMs ?? 0) : 0;
    if (afterMs === 0) {
      this.#carryOut(fault, injected);
      return;
    }
    const timer = this.#options.clock.after(afterMs, () => {
      this.#timers.delete(timer);
      this.#carryOut(fault, injected);
    });
    this.#timers.add(timer);
  }

  /** Closes the watch: the client is gone, or the watches may not receive anything more. */
  dispose(): void {
    this.#isOver = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #passOn(line: string): void {
    if (!this.isAlive) return;
    const truncation = this.#truncation;
    if (truncation === undefined) {
      this.#options.history.note(line);
      this.#write(`${line}\n`);
      return;
    }
    this.#truncation = undefined;
    truncation.injected.noteBite();
    this.#write(line.slice(0, line.length / 2));
    truncation.fault.ending === "End" ? this.#end() : this.#cut();
  }

  #carryOut(fault: Exclude<StreamFault, { readonly kind: "Truncate" }>, injected: InjectedFault): void {
    const lines = fault.kind === "Insert" ? fault.lines : this.#options.history.lines();
    const hasNothingToReplay = fault.kind === "Replay" && lines.length === 0;
    if (!this.isAlive || hasNothingToReplay) return;
    injected.noteBite();
    switch (fault.kind) {
      case "Cut":
        this.#cut();
        return;
      case "End":
        this.#end();
        return;
      case "GoSilent":
        this.#isSilent = true;
        return;
      case "Insert":
      case "Replay":
        this.#write(lines.map((line) => `${line}\n`).join(""));
    }
  }

  #write(text: string): void {
    this.#options.response.write(text);
  }

  #end(): void {
    this.dispose();
    this.#options.response.end();
  }

  #cut(): void {
    this.dispose();
    // Earlier bytes must arrive first, because a reset is faster than bytes in a buffer.
    this.#options.response.write("", this.#options.cut);
  }
}
