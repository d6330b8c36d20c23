/** Chooses the profile of the sandboxes in tests. */
import { type Profile, profiles } from "../../src/sandbox/engine/profile.ts";

/**
 * Returns the profile of the sandboxes in tests that name none: the value of SANDBOX_PROFILE, or seed.
 * @throws Error when there is no such profile
 */
export function defaultSandboxProfile({ SANDBOX_PROFILE: name = "seed" }: NodeJS.ProcessEnv): Profile["name"] {
  if (Object.hasOwn(profiles, name)) return name as Profile["name"];
  throw new Error(`SANDBOX_PROFILE: must be one of ${Object.keys(profiles).join(", ")}`);
}
