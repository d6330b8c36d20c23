/** The section about the work queue. */
import { ofOperator, quantile, type Section } from "../panels/panel-spec.ts";

const rateOf = (metric: string) =>
  `sum(rate(${metric}{${ofOperator}, controller="computeendpoint"}[$__rate_interval]))`;

/** The queue of projects, and their reconciles. */
export const work: Section = {
  title: "Reconciles and queue",
  height: 8,
  panels: [
    {
      kind: "TimeSeries",
      title: "Reconciles, by result",
      description:
        "A reconcile looks at one resource once. requeue_after: the reconcile ended and will run again later.",
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
      description:
        "Reconciles that ended with an unexpected error, and keys that were retried with backoff. 0 is normal.",
      unit: "ops",
      width: 8,
      queries: [
        { expr: rateOf("controller_runtime_reconcile_errors_total"), legend: "errors" },
        { expr: rateOf("workqueue_retries_total"), legend: "retries" },
      ],
    },
    {
      kind: "TimeSeries",
      title: "Durations of reconciles",
      description: "Requests to the control plane and to the API server are included.",
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
        "Keys that wait, and reconciles that run with their maximum number. A depth that does not fall is a queue that does not drain.",
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
      description: "How long a key waits before its reconcile begins.",
      unit: "s",
      width: 8,
      queries: [
        { expr: quantile(0.5, "workqueue_queue_duration_seconds"), legend: "half are quicker" },
        { expr: quantile(0.99, "workqueue_queue_duration_seconds"), legend: "99 % are quicker" },
      ],
    },
    {
      kind: "TimeSeries",
      title: "Keys added, longest reconcile",
      description: "How often a key is added, and how long the longest running reconcile has been running.",
      unit: "short",
      width: 8,
      queries: [
        { expr: rateOf("workqueue_adds_total"), legend: "added per second" },
        {
          expr: `max(workqueue_longest_running_processor_seconds{${ofOperator}, controller="computeendpoint"})`,
          legend: "longest, seconds",
        },
      ],
    },
  ],
};
