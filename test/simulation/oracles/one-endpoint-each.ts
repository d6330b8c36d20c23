/** Checks that no resource creates a second endpoint. */
import type { SentCall } from "../control-plane/sim-control-plane.ts";
import { listKeyOf } from "../run/history.ts";
import { isLetGo } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import type { Oracle } from "./oracle.ts";

/** How long a POST without an answer may still take effect. The operator's default. */
export const settleMs = 150_000;

/** The rates of the machines' clocks may differ by this factor. */
const rateTolerance = 0.99;

/**
 * S2: there is at most one live endpoint for each resource uid. There is no POST without a stored intent, and none
 * while another one is unresolved. S10.
 */
export function oneEndpointEach(world: World): Oracle {
  return {
    onControlPlaneCall(sent) {
      if (sent.call.newName !== undefined) judgePost(world, sent);
    },
    onControlPlaneApplied({ creator }) {
      if (creator.by !== "Operator" || creator.uid === "") return;
      const { uid } = creator;
      const own = world.madeFor(uid);
      if (own.length > 1 && !mayForget(world, uid)) {
        world.violate("S2", `${own.length} live endpoints were made for one resource`);
      }
    },
  };
}

/** Whether the resource may have lost the record of its create: a person released it, or its records were lost. */
export function mayForget({ history }: World, uid: string): boolean {
  const resource = history.lastStored.get(uid);
  return history.robbed.has(uid) || (resource !== undefined && isLetGo(resource));
}

function judgePost(world: World, sent: SentCall): void {
  const { creator } = sent;
  const { history, time } = world;
  if (creator.by !== "Operator") return;
  if (creator.uid === "") {
    world.violate("S2", "a POST was sent under a name whose token stands in no stored intent");
    return;
  }
  const earlier = history.posts.filter(({ uid, sent: other }) => uid === creator.uid && other !== sent);
  const unresolved = history.unresolvedPosts(creator.uid).filter((post) => post.sent !== sent);
  const listedMs = history.listedMs.get(listKeyOf(sent)) ?? Number.NEGATIVE_INFINITY;
  const isEarly = unresolved.some(({ sentAtMs }) => time.nowMs() - sentAtMs < settleMs * rateTolerance);
  if (isEarly && !mayForget(world, creator.uid)) {
    world.violate("S2", "a second POST was sent while an earlier one could still take effect");
  }
  const isBlind = unresolved.some(({ sentAtMs }) => listedMs < sentAtMs + settleMs * rateTolerance);
  if (isBlind && !isEarly && !mayForget(world, creator.uid)) {
    world.violate(
      "S2",
      "a second POST was sent without a list from after the time in which the first could take effect",
    );
  }
  const lastMs = Math.max(...earlier.map(({ sentAtMs }) => sentAtMs));
  if (listedMs < lastMs) world.violate("S10", "a POST was sent again without a list since the one before");
}
