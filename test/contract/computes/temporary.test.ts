/** Tests that a sandbox whose databases are temporary leaves no folder. */
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { findBinaries } from "../../../src/sandbox/computes/postgres/binaries.ts";
import { chooseSystemUser } from "../../../src/sandbox/computes/postgres/system-user.ts";
import { commandLinesNaming } from "../../support/processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { ComputeScene, primary, replica } from "./compute-scene.ts";

afterEach(() => vi.unstubAllEnvs());

/** A folder for temporary files that nothing else uses, and in which PostgreSQL's user may make folders too. */
function makeFolder(): { readonly folder: string; readonly temporary: string } {
  const folder = temporaryFolder("computes-temporary");
  chmodSync(folder, 0o755);
  const temporary = path.join(folder, "tmp");
  mkdirSync(temporary);
  chmodSync(temporary, 0o777);
  return { folder, temporary };
}

async function untilNoProcess(folder: string): Promise<void> {
  await waitUntil(() => commandLinesNaming(folder).length === 0 || undefined, {
    what: "no process is left",
    lastSeen: () => commandLinesNaming(folder),
  });
}

/** Makes a folder with the programs of PostgreSQL, whose initdb waits until a file exists. */
async function makeSlowBinaries(folder: string): Promise<{ readonly bin: string; readonly begin: () => void }> {
  const user = chooseSystemUser(process.getuid?.());
  if (user === undefined) throw new Error("PostgreSQL does not run as root");
  const { postgres, initdb } = await findBinaries(undefined, user);
  const bin = path.join(folder, "bin");
  const awaited = path.join(folder, "begin");
  mkdirSync(bin);
  chmodSync(bin, 0o755);
  const waits = `case "$*" in *-D*) until [ -e "${awaited}" ]; do sleep 0.02; done ;; esac`;
  const scripts = { postgres: `exec "${postgres}" "$@"`, initdb: `${waits}\nexec "${initdb}" "$@"` };
  for (const [name, lines] of Object.entries(scripts)) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${lines}\n`);
    chmodSync(path.join(bin, name), 0o755);
  }
  return { bin, begin: () => writeFileSync(awaited, "") };
}

test("stopped while initdb runs → initdb ends first, and no folder is left", async () => {
  const { folder, temporary } = makeFolder();
  const { bin, begin } = await makeSlowBinaries(folder);
  vi.stubEnv("TMPDIR", temporary);
  const scene = await ComputeScene.start({ compute: { port: 0, postgresBin: bin } });
  expect(readdirSync(temporary)).toHaveLength(2);
  await scene.stop();
  begin();
  await untilNoProcess(temporary);
  expect(readdirSync(temporary)).toEqual([]);
});

test("stopped while a server starts → no folder and no server is left", async () => {
  const { temporary } = makeFolder();
  vi.stubEnv("TMPDIR", temporary);
  const scene = await ComputeScene.start();
  await scene.power(primary, "start");
  await scene.api("POST", `/endpoints/${replica}/start`);
  await scene.stop();
  expect(commandLinesNaming(temporary)).toEqual([]);
  expect(readdirSync(temporary)).toEqual([]);
});
