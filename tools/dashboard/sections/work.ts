/** The section about the work queue. */
import { ofOperator, quantile, type Section } from "../panels/panel-spec.ts";

const rateOf = (metric: string) =>
  `sum(rate(${metric}{${ofOperator}, controller="computeendpoint"}[$__rate_interval]))`;

/** The queue of projects, and their reconciles. */
export const work: Section = {
  title: "Reconciles and queue",
  height: 8,
  width: 8,
  panels: [
    {
      kind: "TimeSeries",
      title: "Reconciles, by result",
      description:
        "A reconcile looks at one resource once. requeue_after: the reconcile ended and will run again later.",
      unit: "ops",
      isStacked: true,
      queries: {
        "{{result}}": `sum by (result) (rate(controller_runtime_reconcile_total{${ofOperator}, controller="computeendpoint"}[$__rate_interval]))`,
      },
    },
    {
      kind: "TimeSeries",
      title: "Errors and retries",
      description:
        "Reconciles that ended with an unexpected error, and keys that were retried with backoff. 0 is normal.",
      unit: "ops",
      queries: {
        errors: rateOf("controller_runtime_reconcile_errors_total"),
        retries: rateOf("workqueue_retries_total"),
      },
    },
    {
      kind: "TimeSeries",
      title: "Durations of reconciles",
      description: "Requests to the control plane and to the API server are included.",
      unit: "s",
      queries: {
        "half are quicker": quantile(0.5, "controller_runtime_reconcile_time_seconds"),
        "99 % are quicker": quantile(0.99, "controller_runtime_reconcile_time_seconds"),
      },
    },
    {
      kind: "TimeSeries",
      title: "Queue depth",
      description:
        "Keys that wait, and reconciles that run with their maximum number. A depth that does not fall is a queue that does not drain.",
      unit: "short",
      queries: {
        waiting: `sum(workqueue_depth{${ofOperator}, controller="computeendpoint"})`,
        "under way": `sum(controller_runtime_active_workers{${ofOperator}, controller="computeendpoint"})`,
        "at most under way": `max(controller_runtime_max_concurrent_reconciles{${ofOperator}, controller="computeendpoint"})`,
      },
    },
    {
      kind: "TimeSeries",
      title: "Time in the queue",
      description: "How long a key waits before its reconcile begins.",
      unit: "s",
      queries: {
        "half are quicker": quantile(0.5, "workqueue_queue_duration_seconds"),
        "99 % are quicker": quantile(0.99, "workqueue_queue_duration_seconds"),
      },
    },
    {
      kind: "TimeSeries",
      title: "Keys added, longest reconcile",
      description: "How often a key is added, and how long the longest running reconcile has been running.",
      unit: "short",
      queries: {
        "added per second": rateOf("workqueue_adds_total"),
        "longest, seconds": `max(workqueue_longest_running_processor_seconds{${ofOperator}, controller="computeendpoint"})`,
      },
    },
  ],
};
