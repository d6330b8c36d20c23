/** Sends the one request of a change of a ComputeEndpoint. */
import type { ControlPlane } from "../../domain/control-plane.ts";
import { ControlPlaneError } from "../../domain/control-plane-error.ts";
import { workProjectOf } from "../../resource/compute-endpoint.ts";
import type { EndpointAnswer, EndpointStep } from "./observation.ts";
import type { PlanOf } from "./plan.ts";

export async function sendEndpointChange({ plan, facts }: EndpointStep, to: ControlPlane): Promise<EndpointAnswer> {
  const projectId = workProjectOf(facts.resource);
  switch (plan?.kind) {
    case "CreateEndpoint":
      return { ...(await to.createEndpoint(projectId, plan.creation)), hash: plan.hash };
    case "UpdateEndpoint":
      return await to.updateEndpoint(projectId, plan.endpointId, plan.changes);
    case "ChangePower":
      return await to.changePower(projectId, plan.endpointId, plan.action);
    case "MoveEndpoint":
      return await move(plan, projectId, to);
    case "DeleteEndpoint":
      return (await to.deleteEndpoint(projectId, plan.endpointId)) ?? { endpoint: undefined, operations: [] };
    default:
      throw new Error(`unreachable: ${plan?.kind} sends nothing`);
  }
}

/**
 * Sends a move. A 409 says that the branch has a read-write endpoint. If the control plane accepts a move and does not
 * carry it out, the move counts as refused. Otherwise the operator would send it again and again.
 */
async function move(
  { endpointId, branchId }: PlanOf<"MoveEndpoint">,
  projectId: string,
  to: ControlPlane,
): Promise<EndpointAnswer> {
  const answer = await to.updateEndpoint(projectId, endpointId, { branchId }).catch((error: unknown) => {
    const isOccupied = error instanceof ControlPlaneError && error.reason === "Conflict";
    throw isOccupied ? new ControlPlaneError("Conflict", error.message, { ...error, subject: "Branch" }) : error;
  });
  if (answer.endpoint.branchId !== branchId) {
    const message = "the control plane accepted the move, but the endpoint stayed on its branch";
    throw new ControlPlaneError("Rejected", message, { effect: "NotApplied", subject: "Endpoint" });
  }
  return answer;
}
