/** The section about the operator's processes. */
import { ofOperator, quantile, type Section } from "../panels/panel-spec.ts";

/** The processes of the operator, one line for each replica. */
export const replicas: Section = {
  title: "Replicas",
  height: 8,
  width: 8,
  panels: [
    {
      kind: "TimeSeries",
      title: "Leader",
      description: "1 for the replica that acts.",
      unit: "short",
      queries: { "{{instance}}": `max by (instance) (leader_election_master_status{${ofOperator}})` },
    },
    {
      kind: "TimeSeries",
      title: "Silence of the watch",
      description:
        "Time since the API server last sent something. It climbs to about a minute and falls. Beyond three minutes the replica is not ready.",
      unit: "s",
      queries: { "{{instance}}": `max by (instance) (reflector_silent_seconds{${ofOperator}})` },
    },
    {
      kind: "TimeSeries",
      title: "Lists and watches",
      description:
        "Lists and watches of the API server. A list every ten minutes and a watch every five to ten minutes are normal.",
      unit: "opm",
      queries: {
        lists: `60 * sum(rate(reflector_lists_total{${ofOperator}}[$__rate_interval]))`,
        watches: `60 * sum(rate(reflector_watches_total{${ofOperator}}[$__rate_interval]))`,
      },
    },
    {
      kind: "TimeSeries",
      title: "Memory",
      description: "Memory of the process, and the JavaScript heap in it.",
      unit: "bytes",
      queries: {
        "{{instance}} resident": `max by (instance) (process_resident_memory_bytes{${ofOperator}})`,
        "{{instance}} heap": `max by (instance) (nodejs_heap_size_used_bytes{${ofOperator}})`,
      },
    },
    {
      kind: "TimeSeries",
      title: "Processor",
      description: "Processor time. 100 % is one core.",
      unit: "percentunit",
      queries: {
        "{{instance}}": `max by (instance) (rate(process_cpu_seconds_total{${ofOperator}}[$__rate_interval]))`,
      },
    },
    {
      kind: "TimeSeries",
      title: "Event-loop delay, 99th percentile",
      description: "How late timers fire. The process does nothing else for that long.",
      unit: "s",
      queries: { "{{instance}}": quantile(0.99, "endpoint_operator_event_loop_delay_seconds", ["instance"]) },
    },
  ],
};
