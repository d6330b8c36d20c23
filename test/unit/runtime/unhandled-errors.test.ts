/** Tests that the process ends even if the log fails. */
import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import type { LogFields } from "../../../src/domain/logger.ts";
import { endOnUnhandledErrors } from "../../../src/runtime/shutdown.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

it.each(["uncaughtException", "unhandledRejection"])("%s → logged, then the process ends", (event) => {
  const emitter = new EventEmitter();
  const seen: string[] = [];
  const error = (fields: LogFields, message: string) =>
    void seen.push(`${message}: ${fields.event} ${(fields.err as Error).message}`);
  endOnUnhandledErrors({ emitter, logger: { ...quietLogger, error }, exit: () => seen.push("exit") });
  emitter.emit(event, new Error("a bug"));
  expect(seen).toEqual([`the process ends because of an unhandled error: ${event} a bug`, "exit"]);
});

it("the log itself fails → the process ends all the same", () => {
  const emitter = new EventEmitter();
  const exits: string[] = [];
  const error = () => {
    throw new Error("no space left");
  };
  endOnUnhandledErrors({ emitter, logger: { ...quietLogger, error }, exit: () => exits.push("exit") });
  expect(() => emitter.emit("uncaughtException", new Error("a bug"))).toThrow("no space left");
  expect(exits).toEqual(["exit"]);
});
