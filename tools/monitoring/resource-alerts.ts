/** The alerts about single resources. */
import type { Alert } from "./alert.ts";
import { fromLeader } from "./from-leader.ts";

const resource = "{{ $labels.namespace }}/{{ $labels.name }}";
const describe = "kubectl -n {{ $labels.namespace }} describe cpe {{ $labels.name }}";

const notReady = `compute_endpoint_condition{type="Ready",status="False"}`;
const stalled = `compute_endpoint_condition{type="Stalled",status="True"}`;
const pending = `compute_endpoint_condition{type="ChangePending",status="True"}`;
const oldest = "compute_endpoint_operation_oldest_in_flight_seconds";
const unauthorized = `compute_endpoint_condition{type="CredentialsValid",status="False"}`;

/** The failure of one of these stops no database. */
const harmlessActions = ["suspend_compute", "check_availability"];

/** More starts than this within an hour cost more waiting than the suspends save. */
const startsLimit = 20;

const failures = "compute_endpoint_operation_failures_total";

/**
 * Failures of the last ten minutes that ComputeEndpointOperationFailed has not shown. Prometheus sees no increase in a
 * series that begins with its first failure. So the whole value of a series counts that did not exist before. It is
 * looked for within an hour, because a failed scrape interrupts a series.
 */
const failedBriefly = `sum by (namespace, name, action) (
  (${failures} unless last_over_time(${failures}[1h] offset 10m))
  or
  increase(${failures}[10m])
) > 0
unless on (namespace, name, action) max_over_time(compute_endpoint_operation_failed[10m])`;

const ofBranch = (alert: string, selector: string) => fromLeader({ alert, selector, presence: "database_branch_info" });

/** Alerts about one resource each. Their labels have its namespace and name. */
export const resourceAlerts: readonly Alert[] = [
  {
    name: "ComputeEndpointOperationFailed",
    severity: "critical",
    warningActions: harmlessActions,
    expr: fromLeader({
      alert: "ComputeEndpointOperationFailed",
      selector: "compute_endpoint_operation_failed",
      labels: ["namespace", "name", "action"],
    }),
    for: "0s",
    summary: `${resource}: the operation {{ $labels.action }} failed`,
    description:
      `The control plane reports that {{ $labels.action }} failed for the ComputeEndpoint ${resource}. ` +
      `Its error text is in status.operations: ${describe}. ` +
      "The operator does not repeat a failed start: connect, start the compute, or change spec. " +
      "Resolves with the next success of this action, or when you acknowledge the failure as the condition LastOperationSucceeded says.",
  },
  {
    name: "ComputeEndpointOperationFailedBriefly",
    severity: "critical",
    warningActions: harmlessActions,
    expr: failedBriefly,
    for: "0s",
    summary: `${resource}: the operation {{ $labels.action }} failed, and has succeeded since`,
    description:
      `{{ $labels.action }} of the ComputeEndpoint ${resource} failed within the last ten minutes, and succeeded before the ` +
      "condition LastOperationSucceeded could show it. Connections may have failed meanwhile. " +
      `The events and status.operations have the error text: ${describe}. Resolves ten minutes after the last failure.`,
  },
  {
    name: "ComputeEndpointOperationStuck",
    severity: "warning",
    expr: `${fromLeader({ alert: "ComputeEndpointOperationStuck", selector: oldest })} > 900`,
    for: "1m",
    summary: `${resource}: an operation has been in flight for {{ $value | humanizeDuration }}`,
    description:
      `The control plane has not ended an operation of the ComputeEndpoint ${resource}. Until it ends, the control plane ` +
      `accepts no other change of the project. The status names the operation: ${describe}. ` +
      "Look at that operation in the control plane. If it never ends, contact the control plane's support.",
  },
  {
    name: "ComputeEndpointNotReady",
    severity: "critical",
    // Stalled resources and rejected credentials have their own alerts, which say more. A waiting move waits as asked,
    // if no operation runs beside it.
    expr:
      `${fromLeader({ alert: "ComputeEndpointNotReady", selector: notReady })}\n` +
      `unless on (namespace, name) (${stalled} or ${unauthorized} or\n` +
      `(${pending} unless on (namespace, name) ${oldest}))`,
    for: "15m",
    summary: `${resource} has not been Ready for 15 minutes`,
    description:
      `The ComputeEndpoint ${resource} has not reached its spec, and the operator knows of nothing that a person must do. ` +
      `The reason and the message of Ready say what the operator waits for: ${describe}. ` +
      "If many resources are not Ready, look first at the control plane, and at the network between it and the operator.",
  },
  {
    name: "ComputeEndpointStalled",
    severity: "warning",
    expr: fromLeader({ alert: "ComputeEndpointStalled", selector: stalled }),
    for: "5m",
    summary: `${resource} is Stalled and waits for a person`,
    description:
      `The operator cannot continue with the ComputeEndpoint ${resource} without a decision. ` +
      `The reason and the message of Stalled say what to decide: ${describe}. ` +
      "docs/conditions.md has the remedy for each reason.",
  },
  {
    name: "ComputeEndpointChangePending",
    severity: "info",
    expr: `${fromLeader({ alert: "ComputeEndpointChangePending", selector: "compute_endpoint_change_pending_seconds" })} > 604800`,
    for: "5m",
    summary: `${resource}: a change has been pending for a week`,
    description:
      `spec.disruption of the ComputeEndpoint ${resource} has held back a change for more than a week. ` +
      `The endpoint serves as before. The condition ChangePending says what ends the wait: ${describe}.`,
  },
  {
    name: "ComputeEndpointNeverSuspends",
    severity: "warning",
    expr: `${fromLeader({ alert: "ComputeEndpointNeverSuspends", selector: "compute_endpoint_unsuspended_seconds" })} > 86400`,
    for: "5m",
    summary: `${resource} has not been idle for {{ $value | humanizeDuration }}`,
    description:
      `The compute of the ComputeEndpoint ${resource} has run without a pause, so each hour costs. ` +
      "A connection that stays open, or a query at short intervals, keeps it active: look at pg_stat_activity. " +
      "If it should run all the time, set spec.suspend.mode to Never: kubectl endpoints usage shows what it used.",
  },
  {
    name: "ComputeEndpointStartsOften",
    severity: "warning",
    expr: `sum by (namespace, name) (increase(compute_endpoint_starts_total[1h])) > ${startsLimit}`,
    for: "0s",
    summary: `${resource} has started {{ $value | humanize }} times within an hour`,
    description:
      `The compute of the ComputeEndpoint ${resource} suspends and starts again and again. The first query after each ` +
      "suspend waits for the start. Raise spec.suspend.afterSeconds above the pause between two visits of its clients. " +
      "kubectl endpoints ops shows what caused the starts.",
  },
  {
    name: "DatabaseAccessNotReady",
    severity: "warning",
    expr: `${fromLeader({ alert: "DatabaseAccessNotReady", selector: "database_access_ready", presence: "database_access_ready" })} == 0`,
    for: "15m",
    summary: `${resource}: the DatabaseAccess has not been Ready for 15 minutes`,
    description:
      `The role, the database or the Secret of the DatabaseAccess ${resource} is not as its spec says. ` +
      "A Secret that is there stays as it is, but a new password or host may not be in it. " +
      "The conditions say what is missing and what to do: kubectl -n {{ $labels.namespace }} describe dba {{ $labels.name }}. " +
      "docs/conditions.md has the remedy for each reason.",
  },
  {
    name: "DatabaseBranchNotReady",
    severity: "warning",
    expr: `${ofBranch("DatabaseBranchNotReady", "database_branch_ready")} == 0 unless on (namespace, name) database_branch_deleting_seconds`,
    for: "15m",
    summary: `${resource}: the DatabaseBranch has not been Ready for 15 minutes`,
    description:
      `The branch of the DatabaseBranch ${resource} is missing, or cannot be used. Its endpoints and accesses wait for it. ` +
      "The conditions say why and what to do: kubectl endpoints why dbb/{{ $labels.name }} -n {{ $labels.namespace }}.",
  },
  {
    name: "DatabaseBranchNotDeleted",
    severity: "warning",
    expr: `${ofBranch("DatabaseBranchNotDeleted", "database_branch_deleting_seconds")} > 900`,
    for: "0s",
    summary: `${resource}: the DatabaseBranch is deleted for {{ $value | humanizeDuration }}`,
    description:
      `The DatabaseBranch ${resource} is being deleted, and its branch is still there and costs storage. ` +
      "The conditions name what stands in the way: kubectl endpoints why dbb/{{ $labels.name }} -n {{ $labels.namespace }}. " +
      "To remove the resource and leave the branch, set spec.deletionPolicy to Retain.",
  },
  {
    name: "BranchExpiresSoon",
    severity: "warning",
    expr: `${ofBranch("BranchExpiresSoon", "database_branch_lease_left")} < 0.25 unless on (namespace, name) database_branch_deleting_seconds`,
    for: "0s",
    summary: `${resource}: less than a quarter of the lease of the branch is left`,
    description:
      `The operator renews the lease of the DatabaseBranch ${resource} at half time, and could not. ` +
      "At its end the control plane deletes the branch with its data. The conditions say why: " +
      "kubectl endpoints why dbb/{{ $labels.name }} -n {{ $labels.namespace }}. " +
      "To keep the branch without an end, remove spec.leaseDurationSeconds.",
  },
];
