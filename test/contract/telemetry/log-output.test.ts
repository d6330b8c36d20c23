/** Tests how log lines reach standard output: in order, complete at an exit, and without an error if it is closed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";

const source = JSON.stringify(new URL("../../../src/telemetry/pino-logger.ts", import.meta.url).href);

/** Starts a process that logs. It is ended after 20 seconds. */
function start(program: string) {
  const whole = `import { createPinoLogger } from ${source}; const logger = createPinoLogger({ level: "info" }); ${program}`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", whole], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  return { child, errors: () => errors };
}

test("many lines in one turn of the event loop, then an exit → all are written, in order", async () => {
  const { child } = start(
    `for (let n = 0; n < 300; n += 1) logger[n % 100 === 99 ? "error" : "info"]({ n }, "a line"); process.exit();`,
  );
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  await once(child, "close");
  const numbers = output
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { n: number }).n);
  expect(numbers).toEqual(Array.from({ length: 300 }, (_, n) => n));
});

test("the reader of the output has ended → the process goes on", async () => {
  const { child, errors } = start(
    `let n = 0; const timer = setInterval(() => { n += 1; logger.info({ n }, "a line"); logger.error({ n }, "an error");
     if (n === 50) { clearInterval(timer); process.stderr.write("went on"); } }, 2);`,
  );
  child.stdout.once("data", () => child.stdout.destroy());
  const [code] = await once(child, "close");
  expect({ code, errors: errors() }).toEqual({ code: 0, errors: "went on" });
});
