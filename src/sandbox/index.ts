/** The exports of the sandbox for code outside it: the command, and the start of a sandbox in the same process. */
export { parseSandboxArguments, sandboxUsage } from "./arguments.ts";
export { type CommandIo, runSandboxCommand } from "./command.ts";
export { defaultFixture, type Fixture, FixtureError, fixtureWithoutEndpoints, parseFixture } from "./engine/fixture.ts";
export { type RunningSandbox, type SandboxOptions, startSandbox } from "./sandbox.ts";
