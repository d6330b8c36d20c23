/** The section about what endpoints use. */
import { ofResource, type Section } from "../panels/panel-spec.ts";

/** What computes use: an estimate between two bounds. */
export const cost: Section = {
  title: "Usage",
  height: 8,
  width: 8,
  panels: [
    {
      kind: "TimeSeries",
      title: "Compute units in use",
      description:
        "The average of all computes within an hour, at their smallest (min) and largest (max) sizes. Suspended computes use none. This is an estimate, and no bill.",
      unit: "short",
      queries: {
        "{{bound}}": `sum by (bound) (rate(compute_endpoint_unit_seconds_total{${ofResource}}[1h]))`,
      },
    },
    {
      kind: "BarGauge",
      title: "Active time within a day",
      description: "How long each compute ran within the last 24 hours. Shows the 20 resources with the longest time.",
      unit: "s",
      queries: {
        "{{namespace}}/{{name}}": `topk(20, sum by (namespace, name) (increase(compute_endpoint_active_seconds_total{${ofResource}}[1d])))`,
      },
    },
    {
      kind: "BarGauge",
      title: "Starts within an hour",
      description: "How often each compute started. The first query after a suspend waits for the start.",
      unit: "short",
      queries: {
        "{{namespace}}/{{name}}": `topk(20, sum by (namespace, name) (increase(compute_endpoint_starts_total{${ofResource}}[1h])))`,
      },
    },
  ],
};
