/** The section about operations. */
import { ofOperator, ofResource, quantile, type Section } from "../panels/panel-spec.ts";

const duration = "compute_endpoint_operation_duration_seconds";
const endedPerMinute = (by: string) =>
  `60 * sum by (${by}) (rate(compute_endpoint_operations_total{${ofOperator}}[$__rate_interval]))`;

/** Operations by the control plane's own records. Panels without a resource name show all resources. */
export const operations: Section = {
  title: "Operations",
  height: 8,
  width: 8,
  panels: [
    {
      kind: "TimeSeries",
      title: "Ended, by outcome",
      description: "Operations that ended, each counted once.",
      unit: "opm",
      colors: { succeeded: "green", failed: "red" },
      queries: { "{{outcome}}": endedPerMinute("outcome") },
    },
    {
      kind: "TimeSeries",
      title: "Ended, by cause",
      description:
        "SpecChange: the operator's own call. ControlPlane: the control plane itself. Other: the call of another client.",
      unit: "opm",
      queries: { "{{cause}}": endedPerMinute("cause") },
    },
    {
      kind: "BarGauge",
      title: "Failures by resource",
      description:
        "Failed operations that the present leader has counted. Shows the 20 resources and actions with the most failures.",
      unit: "short",
      queries: {
        "{{namespace}}/{{name}} {{action}}": `topk(20, sum by (namespace, name, action) (compute_endpoint_operation_failures_total{${ofResource}}))`,
      },
    },
    {
      kind: "Heatmap",
      title: "Durations",
      description: "How many operations took how long. The control plane's own timestamps are used.",
      unit: "s",
      queries: { "{{le}}": `sum by (le) (increase(${duration}_bucket{${ofOperator}}[$__rate_interval]))` },
    },
    {
      kind: "TimeSeries",
      title: "Durations, quantiles",
      description: "How long half and 95 % of the operations take.",
      unit: "s",
      queries: { "half are quicker": quantile(0.5, duration), "95 % are quicker": quantile(0.95, duration) },
    },
    {
      kind: "TimeSeries",
      title: "Durations by action, 95th percentile",
      description: "Which kind of work is slow.",
      unit: "s",
      queries: { "{{action}}": quantile(0.95, duration, ["action"]) },
    },
    {
      kind: "TimeSeries",
      title: "In flight, by action",
      description: "Operations that have not ended, by action.",
      unit: "short",
      isStacked: true,
      width: 6,
      queries: { "{{action}}": `max by (action) (compute_endpoint_operations_in_flight{${ofOperator}})` },
    },
    {
      kind: "TimeSeries",
      title: "Oldest in flight, by resource",
      description:
        "The ten oldest operations that have not ended. A line that only climbs is an operation that is stuck.",
      unit: "s",
      width: 6,
      queries: {
        "{{namespace}}/{{name}}": `topk(10, max by (namespace, name) (compute_endpoint_operation_oldest_in_flight_seconds{${ofResource}}))`,
      },
    },
    {
      kind: "TimeSeries",
      title: "Age of the operator's knowledge",
      description:
        "Time since the operator last read the operations of a project, for the ten oldest. Failed operations are reported so much later.",
      unit: "s",
      width: 6,
      queries: {
        "{{control_plane}} {{project_id}}": `topk(10, max by (control_plane, project_id) (operations_age_seconds{${ofOperator}}))`,
      },
    },
    {
      kind: "TimeSeries",
      title: "Gaps in the operation history",
      description:
        "Parts of the operation history that the operator did not read. Operations that ended there are not counted.",
      unit: "opm",
      width: 6,
      queries: { gaps: `60 * sum(rate(compute_endpoint_operation_log_gaps_total{${ofOperator}}[$__rate_interval]))` },
    },
  ],
};
