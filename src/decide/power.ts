import type { PowerAction } from "../domain/control-plane.ts";
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";

/** The values of the annotations that were handled, as status echoes them. Absent members stay as they are. */
export type PowerEcho = Pick<ComputeEndpointStatus, "lastHandledWakeAt" | "lastHandledSuspendAt">;

/** What the annotations ask of a compute now. */
export interface PowerWish {
  /** `undefined`: nothing has to be sent. */
  readonly action: PowerAction | undefined;
  /** What status echoes when the action was accepted, or at once if there is none. */
  readonly echo: PowerEcho;
}

/**
 * What the annotations ask of a compute. Pure.
 *
 * A value acts once: it counts as handled when the control plane has accepted the call, and also when the compute is already
 * in the asked state or on its way there. Of two new values the suspend comes first. A disabled endpoint is not woken;
 * its wish waits until the endpoint is enabled.
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

/** Whether the compute is in a state, or on its way there. */
function isIn({ state, pendingState }: ObservedEndpoint, wanted: "active" | "idle"): boolean {
  return (pendingState ?? state) === wanted;
}
