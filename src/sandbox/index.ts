/** What other programs may import of the sandbox. */
export { parseSandboxArguments, sandboxUsage } from "./arguments.ts";
export { type CommandIo, runSandboxCommand } from "./command.ts";
export { defaultFixture, type Fixture, FixtureError, fixtureWithoutEndpoints, parseFixture } from "./engine/fixture.ts";
export { type RunningSandbox, type SandboxOptions, startSandbox } from "./sandbox.ts";
