/** Checks that statuses and writes say only what is true. */
import { checkConditions } from "../../support/check-conditions.ts";
import { isSuccess, type StoredObject } from "../kubernetes/answers.ts";
import { isObject } from "../kubernetes/merge-patch.ts";
import type { KubernetesCall } from "../ports.ts";
import { secretKey } from "../replica/replica.ts";
import { conditionOf } from "../run/settled.ts";
import { ownershipOf, specOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import type { Oracle } from "./oracle.ts";

/**
 * S6: every write names uid and version. S8: Ready is True only after a comparison with the endpoint. S9: no text has a
 * secret. The rules for conditions hold.
 */
export function trueWords(world: World): Oracle {
  const sentMs = new WeakMap<KubernetesCall, number>();
  return {
    onKubernetesCall(call) {
      sentMs.set(call, world.time.nowMs());
      if (call.body === undefined) return;
      if (JSON.stringify(call.body).includes(secretKey)) world.violate("S9", `a secret stands in: ${call.what}`);
      if (isPatch(call) && !namesItsObject(call)) world.violate("S6", `no uid or no resourceVersion: ${call.what}`);
    },
    onKubernetesApplied(call, { identity }, answer) {
      if (!isPatch(call) || !isSuccess(answer)) return;
      const stored = answer.body as StoredObject;
      judgeConditions(world, stored);
      if (saysConditions(call)) judgeReady(world, stored, { identity, sentMs: sentMs.get(call) ?? world.time.nowMs() });
    },
    atEnd() {
      if (world.log.entries.some(({ text }) => text.includes(secretKey)))
        world.violate("S9", "a secret stands in the log");
    },
  };
}

function isPatch({ method, path }: KubernetesCall): boolean {
  return method === "PATCH" && path.includes("/computeendpoints/");
}

function namesItsObject({ body }: KubernetesCall): boolean {
  const metadata = isObject(body) ? body.metadata : undefined;
  return isObject(metadata) && metadata.uid !== undefined && metadata.resourceVersion !== undefined;
}

function saysConditions({ body }: KubernetesCall): boolean {
  const status = isObject(body) ? body.status : undefined;
  return isObject(status) && status.conditions !== undefined;
}

function judgeConditions(world: World, { status, metadata }: StoredObject): void {
  if (!isObject(status)) return;
  for (const breach of checkConditions(status as never, metadata.generation, metadata.deletionTimestamp !== undefined))
    world.violate("Conditions", breach);
}

interface Write {
  /** The process that sent it. */
  readonly identity: string;
  /** When it was sent; it may arrive much later. */
  readonly sentMs: number;
}

function judgeReady(world: World, resource: StoredObject, { identity, sentMs }: Write): void {
  const ready = conditionOf(resource, "Ready");
  if (ready?.status !== "True") return;
  const { uid } = resource.metadata;
  const writtenMs = world.history.generationMs.get(`${uid} ${ready.observedGeneration}`) ?? 0;
  const { readMs } = world.history;
  const endpointId = ownershipOf(resource)?.endpointId ?? "";
  const comparedMs = Math.max(readMs.get(String(specOf(resource).projectId)) ?? -1, readMs.get(endpointId) ?? -1);
  if (comparedMs < writtenMs)
    world.violate("S8", "Ready is reported for a generation that was not compared since it was written");
  const goneMs = world.history.goneMs.get(endpointId);
  const shownIn = (read: string) => world.history.shownMs.get(`${identity} ${read}`) ?? -1;
  const shownMs = Math.max(shownIn(String(specOf(resource).projectId)), shownIn(endpointId));
  if (goneMs !== undefined && goneMs < Math.min(shownMs, sentMs) && !world.history.unread.has(endpointId))
    world.violate("S8", "Ready is reported for an endpoint that is gone");
}
