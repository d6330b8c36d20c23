/** Keeps and ends the processes of the demo. */
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Component } from "../../process/component.ts";

/** The processes of the demo, and their one temporary directory. */
export class Processes {
  /** Aborted when the demo must end, or when one of its programs has ended by itself. */
  readonly signal: AbortSignal;
  /** The operator and the sandbox, as far as they run. */
  readonly programs: Component[] = [];
  readonly #directory = mkdtempSync(path.join(tmpdir(), "endpoint-operator-demo-"));
  readonly #broken = new AbortController();
  readonly #parts = new AsyncDisposableStack();
  #isStopping = false;

  constructor(interruption: AbortSignal) {
    this.signal = AbortSignal.any([interruption, this.#broken.signal]);
    this.keep({ stop: () => rm(this.#directory, { recursive: true, force: true }) });
  }

  /** Returns the path of a file or directory of the demo. */
  file(name: string): string {
    return path.join(this.#directory, name);
  }

  /** Takes over something that must be stopped at the end. */
  keep({ stop }: { stop(): Promise<unknown> }): void {
    this.#parts.defer(async () => void (await stop()));
  }

  /** Takes over a program, without which the demo cannot go on. */
  keepProgram(component: Component): void {
    this.programs.push(component);
    this.keep(component.process);
    void component.process.exited.then(({ code, signal }) => {
      const how = signal ?? `code ${code}`;
      if (!this.#isStopping) this.#broken.abort(new Error(`the ${component.name} ended by itself (${how})`));
    });
  }

  /** Ends everything, the last one first, and removes the directory. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#parts.disposeAsync();
  }
}
