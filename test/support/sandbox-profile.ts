/** Chooses the profile of the sandboxes in tests. */
import { type Profile, profiles } from "../../src/sandbox/engine/profile.ts";

/**
 * The profile of the sandboxes of tests that state none: what SANDBOX_PROFILE says, or seed.
 *
 * @throws Error for a profile that there is not
 */
export function defaultSandboxProfile({ SANDBOX_PROFILE: name = "seed" }: NodeJS.ProcessEnv): Profile["name"] {
  if (Object.hasOwn(profiles, name)) return name as Profile["name"];
  throw new Error(`SANDBOX_PROFILE: must be one of ${Object.keys(profiles).join(", ")}`);
}
