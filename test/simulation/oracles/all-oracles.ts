/** The list of all oracles. */
import type { World } from "../run/world.ts";
import { accesses } from "./accesses.ts";
import { atRest } from "./at-rest.ts";
import { branches } from "./branches.ts";
import { countedOnce } from "./counted-once.ts";
import { disruption } from "./disruption.ts";
import { finalizerLast } from "./finalizer-last.ts";
import { leaderOnly } from "./leader-only.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { oneEndpointEach } from "./one-endpoint-each.ts";
import { oneOwner } from "./one-owner.ts";
import { onlyOwnEndpoints } from "./only-own-endpoints.ts";
import type { Oracle } from "./oracle.ts";
import { pausedIsLeftAlone } from "./paused-is-left-alone.ts";
import { planes } from "./planes.ts";
import { staysAlive } from "./stays-alive.ts";
import { trueWords } from "./true-words.ts";
import { usage } from "./usage.ts";
import { withinBudget } from "./within-budget.ts";

/** Every oracle of a run. */
export function createOracles(world: World): readonly Oracle[] {
  return [
    onlyOwnEndpoints(world),
    oneEndpointEach(world),
    oneOwner(world),
    finalizerLast(world),
    leaderOnly(world),
    oneAtATime(world),
    trueWords(world),
    atRest(world),
    pausedIsLeftAlone(world),
    withinBudget(world),
    staysAlive(world),
    countedOnce(world),
    disruption(world),
    ...(world.options.hasAccesses === true ? [accesses(world)] : []),
    ...(world.options.hasBranches === true ? [branches(world)] : []),
    ...(world.options.hasPlanes === true ? [planes(world)] : []),
    ...(world.options.hasUsage === true ? [usage(world)] : []),
  ];
}
