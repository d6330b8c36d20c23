import { ofOperator, quantile, type Section } from "../panels/panel-spec.ts";

const rateOf = (metric: string) =>
  `sum(rate(${metric}{${ofOperator}, controller="computeendpoint"}[$__rate_interval]))`;

/** The queue of keys, and the passes over them. */
export const work: Section = {
  title: "Passes and queue",
  height: 8,
  panels: [
    {
      kind: "TimeSeries",
      title: "Passes, by result",
      description: "A pass looks at one resource once. requeue_after is how a pass ends that has to come back later.",
      unit: "ops",
      isStacked: true,
      width: 8,
      queries: [
        {
          expr: `sum by (result) (rate(controller_runtime_reconcile_total{${ofOperator}, controller="computeendpoint"}[$__rate_interval]))`,
          legend: "{{result}}",
        },
      ],
    },
    {
      kind: "TimeSeries",
      title: "Errors and retries",
      description: "Passes that ended in an unexpected error, and keys that came back with backoff. At 0 all is well.",
      unit: "ops",
      width: 8,
      queries: [
        { expr: rateOf("controller_runtime_reconcile_errors_total"), legend: "errors" },
        { expr: rateOf("workqueue_retries_total"), legend: "retries" },
      ],
    },
    {
      kind: "TimeSeries",
      title: "Durations of passes",
      description: "Requests to the service and to the API server included.",
      unit: "s",
      width: 8,
      queries: [
        { expr: quantile(0.5, "controller_runtime_reconcile_time_seconds"), legend: "half are quicker" },
        { expr: quantile(0.99, "controller_runtime_reconcile_time_seconds"), legend: "99 % are quicker" },
      ],
    },
    {
      kind: "TimeSeries",
      title: "Queue depth",
      description:
        "Keys that wait, and passes under way against how many there may be. A depth that does not come down is a queue that does not drain.",
      unit: "short",
      width: 8,
      queries: [
        { expr: `sum(workqueue_depth{${ofOperator}, controller="computeendpoint"})`, legend: "waiting" },
        {
          expr: `sum(controller_runtime_active_workers{${ofOperator}, controller="computeendpoint"})`,
          legend: "under way",
        },
        {
          expr: `max(controller_runtime_max_concurrent_reconciles{${ofOperator}, controller="computeendpoint"})`,
          legend: "at most under way",
        },
      ],
    },
    {
      kind: "TimeSeries",
      title: "Time in the queue",
      description: "How long keys wait before a pass takes them.",
      unit: "s",
      width: 8,
      queries: [
        { expr: quantile(0.5, "workqueue_queue_duration_seconds"), legend: "half are quicker" },
        { expr: quantile(0.99, "workqueue_queue_duration_seconds"), legend: "99 % are quicker" },
      ],
    },
    {
      kind: "TimeSeries",
      title: "Keys added, longest pass",
      description: "How often something asks for a pass, and for how long the longest pass under way has been running.",
      unit: "short",
      width: 8,
      queries: [
        { expr: rateOf("workqueue_adds_total"), legend: "added per second" },
        {
          expr: `max(workqueue_longest_running_processor_seconds{${ofOperator}, controller="computeendpoint"})`,
          legend: "longest pass, seconds",
        },
      ],
    },
  ],
};
