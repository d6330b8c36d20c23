/** Collects the outputs of an operator. */
import type { LogFields, Logger } from "../../src/domain/logger.ts";
import { createPinoLogger } from "../../src/telemetry/pino-logger.ts";
import { saveOutput } from "./outputs.ts";

/** A line that the operator has logged. */
export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

/**
 * The outputs of the operator of one world. The test can read them. At the end they are saved for the search for
 * secrets.
 */
export class WorldOutputs {
  readonly lines: LogLine[] = [];
  readonly logger: Logger;
  /** The lines in the form in which the program writes them. */
  readonly #written: string[] = [];
  /** Every version of a resource that was seen, by its resourceVersion. */
  readonly #seen = new Map<string, string>();

  /** @param apiKey the operator's API key */
  constructor(apiKey: string) {
    const stream = { write: (line: string) => void this.#written.push(line) };
    const written = createPinoLogger({ level: "trace", knownSecrets: () => [apiKey], stream });
    const write = (level: keyof Logger) => (fields: LogFields, message: string) => {
      this.lines.push({ level, message, fields });
      written[level](fields, message);
    };
    this.logger = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  }

  /** Notes a version of a resource that was seen. */
  saw(resource: { readonly metadata: { readonly resourceVersion: string }; readonly status?: unknown }): void {
    this.#seen.set(resource.metadata.resourceVersion, JSON.stringify(resource));
  }

  /**
   * Saves all outputs.
   * @param events the events of the namespace
   */
  save(events: unknown): void {
    saveOutput("logs", this.#written.join(""));
    saveOutput("status", [...this.#seen.values()].join("\n"));
    saveOutput("events", JSON.stringify(events));
  }
}
