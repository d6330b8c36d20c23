/** Decides what the annotations that start or suspend a compute ask for. */
import type { PowerAction } from "../domain/control-plane.ts";
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";

/** The values of handled power annotations, as status repeats them. Absent members stay as they are. */
export type PowerEcho = Pick<ComputeEndpointStatus, "lastHandledWakeAt" | "lastHandledSuspendAt">;

/** What the power annotations ask for now. */
export interface PowerWish {
  /** The call to send; `undefined`: nothing has to be sent. */
  readonly action: PowerAction | undefined;
  /** What status repeats after the control plane accepted the action, or at once if there is no action. */
  readonly echo: PowerEcho;
}

/**
 * Returns what the power annotations ask for. Pure.
 *
 * Each value acts once. It counts as handled when the control plane has accepted the call. It also counts if the
 * compute is in that state already, or is changing to it. Of two new values, suspend comes first. A disabled endpoint
 * is not started; the request waits until the endpoint is enabled.
 */
export function powerWishOf(resource: ComputeEndpoint, endpoint: ObservedEndpoint): PowerWish {
  const { status, annotations: given } = resource;
  const suspendAt = newValue(given[annotations.suspendRequestedAt], status.lastHandledSuspendAt);
  const wakeAt = newValue(given[annotations.wakeRequestedAt], status.lastHandledWakeAt);
  const suspended: PowerEcho = suspendAt === undefined ? {} : { lastHandledSuspendAt: suspendAt };
  if (suspendAt !== undefined && !isIn(endpoint, "idle")) {
    return { action: "suspend", echo: suspended };
  }
  if (wakeAt === undefined || endpoint.disabled) {
    return { action: undefined, echo: suspended };
  }
  const both: PowerEcho = { ...suspended, lastHandledWakeAt: wakeAt };
  return { action: isIn(endpoint, "active") ? undefined : "start", echo: both };
}

function newValue(asked: string | undefined, handled: string | undefined): string | undefined {
  return asked === handled ? undefined : asked;
}

/** Whether the compute is in a state, or is changing to it. */
function isIn({ state, pendingState }: ObservedEndpoint, wanted: "active" | "idle"): boolean {
  return (pendingState ?? state) === wanted;
}
