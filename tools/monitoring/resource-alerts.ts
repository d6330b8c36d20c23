import type { Alert } from "./alert.ts";
import { lastWord } from "./last-word.ts";

const resource = "{{ $labels.namespace }}/{{ $labels.name }}";
const describe = "kubectl -n {{ $labels.namespace }} describe cpe {{ $labels.name }}";

const notReady = `compute_endpoint_condition{type="Ready",status="False"}`;
const stalled = `compute_endpoint_condition{type="Stalled",status="True"}`;
const unauthorized = `compute_endpoint_condition{type="CredentialsValid",status="False"}`;

/** Alerts about one resource each; every one carries its namespace and name. */
export const resourceAlerts: readonly Alert[] = [
  {
    name: "ComputeEndpointOperationFailed",
    severity: "critical",
    // The gauge, not the failures counter: that one begins with the first failure, and nothing seems to have risen.
    expr: lastWord({
      alert: "ComputeEndpointOperationFailed",
      selector: "compute_endpoint_operation_failed",
      labels: ["namespace", "name", "action"],
    }),
    for: "0s",
    summary: `${resource}: the operation {{ $labels.action }} failed`,
    description:
      `The service reports that {{ $labels.action }} failed for the ComputeEndpoint ${resource}. ` +
      `What the service says of it is in status.operations: ${describe}. ` +
      "The operator does not repeat a failed start: connect, start the compute, or change spec. " +
      "Ends with the next success of this action, or when it is acknowledged as the condition LastOperationSucceeded says.",
  },
  {
    name: "ComputeEndpointOperationStuck",
    severity: "warning",
    expr: `${lastWord({ alert: "ComputeEndpointOperationStuck", selector: "compute_endpoint_operation_oldest_in_flight_seconds" })} > 900`,
    for: "1m",
    summary: `${resource}: an operation has been in flight for {{ $value | humanizeDuration }}`,
    description:
      `The service has not ended an operation of the ComputeEndpoint ${resource}, and allows no other change of its ` +
      `project meanwhile. See which: ${describe}. ` +
      "Look at that operation at the service; one that never ends is for its support.",
  },
  {
    name: "ComputeEndpointNotReady",
    severity: "critical",
    // Stalled and rejected credentials have alerts of their own that say more.
    expr:
      `${lastWord({ alert: "ComputeEndpointNotReady", selector: notReady })}\n` +
      `unless on (namespace, name) (${stalled} or ${unauthorized})`,
    for: "15m",
    summary: `${resource} has not been Ready for 15 minutes`,
    description:
      `The ComputeEndpoint ${resource} does not become what its spec says, though nobody's action is known to be needed. ` +
      `The reason and the message of Ready say what is waited for: ${describe}. ` +
      "Many at once: look at the service and at the network between it and the operator first.",
  },
  {
    name: "ComputeEndpointStalled",
    severity: "warning",
    expr: lastWord({ alert: "ComputeEndpointStalled", selector: stalled }),
    for: "5m",
    summary: `${resource} is Stalled and waits for a person`,
    description:
      `The operator cannot go on with the ComputeEndpoint ${resource} by itself. ` +
      `The reason and the message of Stalled say what has to be decided: ${describe}. ` +
      "docs/conditions.md has the remedy for each reason.",
  },
];
