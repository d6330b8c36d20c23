/** Tests the log lines about a receiver of traces. */
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import { beforeEach, expect, test } from "vitest";
import { withReports } from "../../../src/tracing/start-tracing.ts";
import { FakeClock } from "../../support/fake-clock.ts";

type Result = Parameters<Parameters<SpanExporter["export"]>[1]>[0];

let clock: FakeClock;
let lines: string[];
let result: Result;
let exporter: SpanExporter;

const taken: Result = { code: 0 };
const lostBy = (error: Error): Result => ({ code: 1, error });

beforeEach(() => {
  clock = new FakeClock();
  lines = [];
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const logger = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  const inner: SpanExporter = { export: (_, onResult) => onResult(result), shutdown: () => Promise.resolve() };
  exporter = withReports(inner, { clock, logger });
});

function send(next: Result): Result | undefined {
  result = next;
  let seen: Result | undefined;
  exporter.export([], (answer) => {
    seen = answer;
  });
  return seen;
}

test("a receiver that takes everything → not a word", () => {
  expect(send(taken)).toBe(taken);
  expect(lines).toEqual([]);
});

test("a receiver that is down for long → one line with the code, none with its words; one more when it is back", () => {
  const refused = Object.assign(new Error("made-up words"), { code: "ECONNREFUSED" });
  for (let times = 0; times < 50; times += 1) expect(send(lostBy(refused))?.error).toBe(refused);
  send(taken);
  send(taken);
  expect(lines).toEqual([
    'warn traces are lost: their receiver does not accept them {"spans":0,"why":"ECONNREFUSED"}',
    "info traces arrive again {}",
  ]);
});

test("a receiver that comes and goes → two lines in ten minutes", async () => {
  for (let minute = 0; minute < 10; minute += 1) {
    send(lostBy(Object.assign(new Error("x"), { code: 502 })));
    send(taken);
    await clock.advance(60_000);
  }
  expect(lines).toHaveLength(2);
  send(lostBy(new Error("x", { cause: { code: "EPIPE" } })));
  expect(lines.at(-1)).toContain('"why":"EPIPE"');
});
