/** Tests that the process ends even if the log fails. */
import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { endOnUnhandledErrors } from "../../../src/runtime/shutdown.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

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
