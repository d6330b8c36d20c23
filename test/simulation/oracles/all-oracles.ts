import type { World } from "../run/world.ts";
import { oneEndpointEach } from "./one-endpoint-each.ts";
import type { Oracle } from "./oracle.ts";

/** Every oracle of a run. */
export function createOracles(world: World): readonly Oracle[] {
  return [oneEndpointEach(world)];
}
