/** Checks that DatabaseBranches end as their specs say, and that no preview reaches its parent. */
import { world as places } from "../control-plane/engine.ts";
import { isSuccess, type StoredObject } from "../kubernetes/answers.ts";
import { isObject } from "../kubernetes/merge-patch.ts";
import { annotations } from "../ports.ts";
import { branchIdOf, madeBranches } from "../run/people-and-branches.ts";
import { conditionOf, isPausedByPerson } from "../run/settled.ts";
import { specOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import { epochMs } from "../time/machine.ts";
import { passwordOf } from "./accesses.ts";
import type { Problem } from "./at-rest.ts";
import type { Oracle } from "./oracle.ts";

/** The role that the parent of every preview has. Its password must stand in no Secret of a preview. */
export const parentRole = {
  projectId: places.project,
  branchId: places.branches[0],
  roleName: "orders_app",
} as const;

/** A branch is read and changed at once, so a request is late if the branch was protected so long before. */
const protectedMs = 30_000;

const reset = "reset the branch to its parent";

/**
 * S2: no branch is made twice for one resource. S4: none is left. S1: each reset has a stored wish of a person and is
 * made once, and a protected branch gets none. S9: no Secret of a preview holds a password or a host of another branch.
 */
export function branches(world: World): Oracle {
  /** The wish behind each reset that was sent. */
  const wishes = new Map<object, string>();
  const made = new Set<string>();
  return {
    onControlPlaneCall(sent) {
      const { object, branchId, purpose } = sent.call;
      if (object !== "branch" || branchId === undefined) return;
      if (purpose === reset) wishes.set(sent, wishOf(world, branchId) ?? "none");
      // Whether a lease can be set, the control plane alone knows.
      if (purpose === reset || purpose === "delete the branch") judgeProtected(world, branchId);
    },
    onControlPlaneApplied(sent, outcome) {
      if (sent.call.object !== "branch" || outcome instanceof Error) return;
      const wish = wishes.get(sent);
      if (wish !== undefined && made.has(wish)) world.violate("S1", "a reset was made twice");
      if (wish !== undefined) made.add(wish);
      judgeDoubles(world);
    },
    onKubernetesApplied(call, _process, answer) {
      const isWritten = call.path.includes("/secrets") && call.method !== "GET" && isSuccess(answer);
      if (isWritten) judgeSecret(world, (answer.body as { readonly data?: Readonly<Record<string, string>> }).data);
    },
    atEnd() {
      for (const branch of world.branches()) {
        const problem = problemOfBranch(world, branch);
        if (problem !== undefined) world.violate(problem.promise, `${branch.metadata.name} ${problem.text}`);
      }
      const owners = new Set(world.branches().map(branchIdOf));
      // A paused resource that lost its record takes it up again only after the pause.
      const waits = world.branches().some((branch) => isPausedByPerson(branch) && branchIdOf(branch) === undefined);
      if (!waits && madeBranches(world).some(({ id }) => !owners.has(id))) {
        world.violate("S4", "a branch is left that no resource owns");
      }
    },
  };
}

/** The stored wish behind a reset, which a person must have written. `undefined`: there is none. */
function wishOf(world: World, branchId: string): string | undefined {
  const owner = world.branches().find((branch) => branchIdOf(branch) === branchId);
  const intent = owner && isObject(owner.status) ? owner.status.resetIntent : undefined;
  if (owner === undefined || !isObject(intent)) {
    world.violate("S1", "a reset was sent without a stored intent");
    return undefined;
  }
  const asked = [`"name":"${owner.metadata.name}"`, `"${annotations.resetRequestedAt}":"${intent.value}"`];
  const isAsked = world.log.entries.some(({ text }) => asked.every((part) => text.includes(part)));
  if (!isAsked) world.violate("S1", "a reset was sent that nobody asked for");
  return `${branchId} ${intent.value} ${intent.lastResetTime}`;
}

function judgeProtected(world: World, branchId: string): void {
  const branch = world.controlPlane.engine.branches(places.project).find(({ id }) => id === branchId);
  const sinceMs = branch?.protected === true ? epochMs + world.time.nowMs() - branch.updatedMs : 0;
  if (sinceMs > protectedMs) world.violate("S1", "a protected branch was to be deleted or reset");
}

function judgeDoubles(world: World): void {
  const owners = madeBranches(world).map(({ owner }) => owner);
  if (new Set(owners).size < owners.length) world.violate("S2", "two branches were made for one resource");
}

function judgeSecret(world: World, data: Readonly<Record<string, string>> = {}): void {
  const texts = Object.values(data).map((text) => Buffer.from(text, "base64").toString());
  const previews = new Set(madeBranches(world).map(({ id }) => id));
  const hosts = world.endpoints().flatMap(({ branchId, host }) => (previews.has(branchId) ? [] : [host]));
  const forbidden = [passwordOf(world, parentRole), ...hosts].filter((text) => text !== undefined);
  if (forbidden.some((text) => texts.some((each) => each.includes(text)))) {
    world.violate("S9", "a Secret of a preview holds a password of the parent, or a host of another branch");
  }
}

/** Returns why a DatabaseBranch is not in the state in which it should stay; `undefined`: it is. */
export function problemOfBranch(world: World, branch: StoredObject): Problem | undefined {
  if (isPausedByPerson(branch)) return undefined;
  if (branch.metadata.deletionTimestamp !== undefined) return { promise: "L2", text: "is still being deleted" };
  const ready = conditionOf(branch, "Ready");
  if (ready === undefined || ready.observedGeneration !== branch.metadata.generation) {
    return { promise: "L1", text: "was not looked at since its spec changed" };
  }
  const found = world.controlPlane.engine.branches(places.project).find(({ id }) => id === branchIdOf(branch));
  if (ready.status !== "True") return { promise: "L1", text: `is not Ready: ${ready.reason}: ${ready.message}` };
  if (found === undefined) return { promise: "S8", text: "is Ready, and there is no branch" };
  const isLeased = specOf(branch).leaseDurationSeconds !== undefined;
  return isLeased === (found.expiresMs !== undefined) ? undefined : { promise: "L1", text: "has another lease" };
}
