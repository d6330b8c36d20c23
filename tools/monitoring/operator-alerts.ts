import type { Alert } from "./alert.ts";
import { lastWord } from "./last-word.ts";

const pods = "kubectl get pods -A -l app.kubernetes.io/name=endpoint-operator";

/** Other operators export series of these names too; ours are those of targets that export our build. */
const ours = "and on (job, instance) endpoint_operator_build_info";

const queue = `name="computeendpoint"`;

/** Operators may share a Prometheus, each for some namespaces: what one of them suffers must not vanish in the sum of all. */
const byOperator = "by (job, namespace)";

/** Alerts about the operator and its way to the service. While one of the critical ones is firing, silence about resources means nothing. */
export const operatorAlerts: readonly Alert[] = [
  {
    name: "EndpointOperatorDown",
    severity: "critical",
    expr: "absent(endpoint_operator_build_info)",
    for: "5m",
    summary: "No replica of the endpoint operator is scraped",
    description:
      "Either no replica runs, or Prometheus does not reach /metrics. Databases go on running, but nothing is reconciled " +
      `and nobody is told of failed operations. Look at the pods (${pods}), then at the targets of Prometheus.`,
  },
  {
    name: "EndpointOperatorWithoutLeader",
    severity: "critical",
    expr: `max by (namespace, name) (leader_election_master_status ${ours}) == 0`,
    for: "3m",
    summary: "No replica of the endpoint operator leads",
    description:
      "Replicas run, but none holds the Lease {{ $labels.name }}, so nothing is reconciled and nobody is told of failed " +
      `operations. See who holds it: kubectl get lease -A --field-selector=metadata.name={{ $labels.name }}. Then read the logs of the pods (${pods}).`,
  },
  {
    name: "EndpointOperatorWatchStale",
    severity: "critical",
    expr:
      `max ${byOperator} (reflector_silent_seconds{${queue}}) > 180\n` +
      `or\nmin ${byOperator} (reflector_synced{${queue}}) == 0`,
    for: "2m",
    summary: "A replica of the endpoint operator does not hear the Kubernetes API server",
    description:
      "Its view of the ComputeEndpoints is old or missing: changes are not seen, and what the metrics say of resources " +
      `may be outdated. See which one is not ready (${pods}), and why in its log: rights, network, or the API server itself.`,
  },
  {
    name: "EndpointOperatorCredentialsRejected",
    severity: "critical",
    expr: `count ${lastWord({
      alert: "EndpointOperatorCredentialsRejected",
      selector: 'compute_endpoint_condition{type="CredentialsValid",status="False"}',
      alertLabels: [],
    })}`,
    for: "2m",
    summary: "The control plane rejects the operator's API key",
    description:
      "The service answers 401; {{ $value }} ComputeEndpoints cannot be read or changed, and failed operations are not seen. " +
      "Put a valid key into the Secret control-plane-api-key; it is read again by itself.",
  },
  {
    name: "EndpointOperatorOperationsUnseen",
    severity: "warning",
    // Mostly it is found in the first seconds of a process: its counter is 1 when it is first scraped, and no rise is seen.
    expr:
      "sum(increase(compute_endpoint_operation_log_gaps_total[1h])) > 0\nor\n" +
      "sum(compute_endpoint_operation_log_gaps_total and on (job, instance) time() - process_start_time_seconds < 3600) > 0",
    for: "0s",
    summary: "The endpoint operator could not read the operations of a project far enough back",
    description:
      "Operations that ended before what it read are not counted, and a failed one among them pages nobody. The log of " +
      `the leader names the project (${pods}); look through the operations of that project at the service. ` +
      "Ends by itself an hour after the last time.",
  },
  {
    name: "EndpointOperatorThrottled",
    severity: "warning",
    expr:
      `sum ${byOperator} (rate(control_plane_throttled_total[10m]))\n/\n(\n` +
      `  sum ${byOperator} (rate(control_plane_requests_total[10m]))\n  +\n` +
      `  sum ${byOperator} (rate(control_plane_throttled_total{reason="HeldBack"}[10m]))\n)\n> 0.1`,
    for: "20m",
    summary: "The control plane throttles the operator: {{ $value | humanizePercentage }} of its calls wait",
    description:
      "The service answers 429 again and again, so changes and failed operations are seen late. Find out who else uses " +
      "the key or the account; raise the limit, or PROJECT_POLL_SECONDS.",
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
      "The endpoint operator is behind: resources wait {{ $value | humanizeDuration }} for their turn, or for one pass",
    description:
      "More work comes in than gets done, or a pass hangs. Look at control_plane_request_duration_seconds and at the log " +
      "first: a slow service is the usual cause. With many resources raise WORKERS, and the CPU of the pod.",
  },
];
