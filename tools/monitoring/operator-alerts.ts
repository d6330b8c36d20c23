/** The alerts about the operator itself. */
import type { Alert } from "./alert.ts";
import { fromLeader } from "./from-leader.ts";

const pods = "kubectl get pods -A -l app.kubernetes.io/name=endpoint-operator";

/**
 * Other operators export series with the same names. This part selects the targets that export the build information of
 * this operator.
 */
const ours = "and on (job, instance) endpoint_operator_build_info";

const queue = `name="computeendpoint"`;

/** Several operators may share a Prometheus. A sum over all of them would hide a problem of one. */
const byOperator = "by (job, namespace)";

/** The labels of one control plane of one operator. */
const ofControlPlane = ["job", "namespace", "control_plane"];

/** Returns an expression: whether a control plane that the matcher selects refuses the leader's key. */
function rejectedKey(alert: string, matcher: string): string {
  const selector = `control_plane_credentials_valid{${matcher}}`;
  return `${fromLeader({ alert, selector, labels: ofControlPlane, identity: ofControlPlane, presence: selector })} == 0`;
}

/**
 * Alerts about the operator and its connection to the control plane. While a critical one fires, missing alerts about
 * resources mean nothing.
 */
export const operatorAlerts: readonly Alert[] = [
  {
    name: "EndpointOperatorDown",
    severity: "critical",
    expr: "absent(endpoint_operator_build_info)",
    for: "5m",
    summary: "No replica of the endpoint operator is scraped",
    description:
      "Either no replica runs, or Prometheus does not reach /metrics. Databases continue to run, but no resource is " +
      `reconciled and no failed operation is reported. Look at the pods (${pods}), then at the targets of Prometheus.`,
  },
  {
    name: "EndpointOperatorWithoutLeader",
    severity: "critical",
    expr: `max by (namespace, name) (leader_election_master_status ${ours}) == 0`,
    for: "3m",
    summary: "No replica of the endpoint operator leads",
    description:
      "Replicas run, but none holds the Lease {{ $labels.name }}, so no resource is reconciled and no failed operation is " +
      `reported. See its holder: kubectl get lease -A --field-selector=metadata.name={{ $labels.name }}. Then read the logs of the pods (${pods}).`,
  },
  {
    name: "EndpointOperatorWatchStale",
    severity: "critical",
    expr:
      `max ${byOperator} (reflector_silent_seconds{${queue}}) > 180\n` +
      `or\nmin ${byOperator} (reflector_synced{${queue}}) == 0`,
    for: "2m",
    summary: "A replica of the endpoint operator receives nothing from the Kubernetes API server",
    description:
      "Its cache of ComputeEndpoints is old or missing: it does not see changes, and its metrics of resources may be " +
      `outdated. Find the replica that is not ready (${pods}). Its log says why: rights, network, or the API server itself.`,
  },
  {
    name: "ControlPlaneCredentialsRejected",
    severity: "critical",
    expr: rejectedKey("ControlPlaneCredentialsRejected", 'control_plane="settings"'),
    for: "2m",
    summary: "The control plane of the settings rejects the operator's API key",
    description:
      "The control plane answers 401. The operator cannot read or change the resources that use this control plane, and does " +
      "not see failed operations. Put a valid key into the Secret control-plane-api-key. The operator reads it again by " +
      "itself. See the resources: kubectl get cpe -A.",
  },
  {
    name: "TenantControlPlaneCredentialsRejected",
    severity: "warning",
    expr: rejectedKey("TenantControlPlaneCredentialsRejected", 'control_plane!="settings"'),
    for: "2m",
    summary: "{{ $labels.control_plane }} rejects its API key",
    description:
      "The control plane answers 401. The operator cannot read or change the resources that name this ControlPlane or " +
      "ClusterControlPlane; all others continue. The team that owns it must put a valid key into the Secret that its " +
      "spec.apiKeySecretRef names. The operator reads it again by itself.",
  },
  {
    name: "EndpointOperatorOperationsUnseen",
    severity: "warning",
    // A process mostly finds a gap in its first seconds. Its counter is then 1 at the first scrape, and Prometheus sees
    // no increase.
    expr:
      "sum(increase(compute_endpoint_operation_log_gaps_total[1h])) > 0\nor\n" +
      "sum(compute_endpoint_operation_log_gaps_total and on (job, instance) time() - process_start_time_seconds < 3600) > 0",
    for: "0s",
    summary: "The endpoint operator could not read the operations of a project far enough back",
    description:
      "Older operations of the project are in no metric, and no alert was sent for those that failed. The log of the leader " +
      `names the project (${pods}). Look through its operations in the control plane. ` +
      "Resolves one hour after the last occurrence.",
  },
  {
    name: "EndpointOperatorThrottled",
    severity: "warning",
    expr:
      `sum by (${ofControlPlane.join(", ")}) (rate(control_plane_throttled_total[10m]))\n/\n` +
      `sum by (${ofControlPlane.join(", ")}) (rate(control_plane_calls_total[10m]))\n> 0.1`,
    for: "20m",
    summary: "{{ $labels.control_plane }} throttles the operator: {{ $value | humanizePercentage }} of its calls wait",
    description:
      "This control plane keeps answering 429, or the operator's request budget for it is used up. So changes are late, and " +
      "failed operations are reported late. The name settings stands for the control plane of the settings. Other control planes continue. " +
      "Find the other clients of the key or the account. Then raise the limit, or PROJECT_POLL_SECONDS.",
  },
  {
    name: "EndpointOperatorQueueNotDraining",
    severity: "warning",
    expr:
      `sum ${byOperator} (rate(workqueue_queue_duration_seconds_sum{${queue}}[10m]))\n/\n` +
      `sum ${byOperator} (rate(workqueue_queue_duration_seconds_count{${queue}}[10m]))\n> 60\n` +
      `or\nmax ${byOperator} (workqueue_longest_running_processor_seconds{${queue}}) > 300`,
    for: "10m",
    summary:
      "The endpoint operator is behind: the average wait of a project, or one reconcile, takes {{ $value | humanizeDuration }}",
    description:
      "More work arrives than the operator finishes, or a reconcile hangs. Look first at control_plane_request_duration_seconds " +
      "and at the log: a slow control plane is the usual cause. With many resources raise WORKERS, and the CPU of the pod.",
  },
];
