/** Checks that DatabaseBranches end as their specs say, and that no preview reaches its parent. */
import { world as places } from "../control-plane/engine.ts";
import { isSuccess, type StoredObject } from "../kubernetes/answers.ts";
import { isObject } from "../kubernetes/merge-patch.ts";
import { annotations, group } from "../ports.ts";
import { conditionOf, isPausedByPerson } from "../run/settled.ts";
import { specOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import { passwordOf } from "./accesses.ts";
import type { Problem } from "./at-rest.ts";
import type { Oracle } from "./oracle.ts";

/** The role that the parent of every preview has. Its password must stand in no Secret of a preview. */
export const parentRole = {
  projectId: places.project,
  branchId: places.branches[0],
  roleName: "orders_app",
} as const;

/**
 * S2: no branch is made twice for one resource. S4: none is left. S1: each reset has a wish of a person. S9: no Secret
 * of a preview holds a password or a host of the parent.
 */
export function branches(world: World): Oracle {
  let resets = 0;
  return {
    onControlPlaneApplied({ call }, outcome) {
      if (call.object !== "branch" || outcome instanceof Error) return;
      if (call.purpose === "reset the branch to its parent") resets += 1;
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
      if (made(world).some(({ id }) => !owners.has(id))) world.violate("S4", "a branch is left that no resource owns");
      const wishes = new Set(
        world.log.entries.filter(({ text }) => text.includes(annotations.resetRequestedAt)).map(({ text }) => text),
      );
      if (resets > wishes.size) world.violate("S1", `${resets} resets were made, and ${wishes.size} were asked for`);
    },
  };
}

/** The branches that the operator has made, with the tokens of their resources. */
function made({ controlPlane }: World) {
  return controlPlane.engine.branches(places.project).flatMap(({ id, annotation }) => {
    const owner = annotation?.[`${group}/owner`];
    return owner === undefined ? [] : [{ id, owner }];
  });
}

function judgeDoubles(world: World): void {
  const owners = made(world).map(({ owner }) => owner);
  if (new Set(owners).size < owners.length) world.violate("S2", "two branches were made for one resource");
}

function judgeSecret(world: World, data: Readonly<Record<string, string>> = {}): void {
  const texts = Object.values(data).map((text) => Buffer.from(text, "base64").toString());
  const hosts = world.endpoints().flatMap(({ branchId, host }) => (branchId === parentRole.branchId ? [host] : []));
  const forbidden = [passwordOf(world, parentRole), ...hosts].filter((text) => text !== undefined);
  if (forbidden.some((text) => texts.some((each) => each.includes(text)))) {
    world.violate("S9", "a Secret of a preview holds a password or a host of the parent");
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

function branchIdOf({ status }: StoredObject): string | undefined {
  const record = isObject(status) ? status.ownership : undefined;
  return isObject(record) ? String(record.branchId) : undefined;
}
