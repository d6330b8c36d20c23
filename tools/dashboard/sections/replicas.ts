import { ofOperator, quantile, type Section } from "../panels/panel-spec.ts";

/** The processes, one line for each replica. */
export const replicas: Section = {
  title: "Replicas",
  height: 8,
  panels: [
    {
      kind: "TimeSeries",
      title: "Leader",
      description: "1 for the replica that acts.",
      unit: "short",
      width: 8,
      queries: [{ expr: `max by (instance) (leader_election_master_status{${ofOperator}})`, legend: "{{instance}}" }],
    },
    {
      kind: "TimeSeries",
      title: "Silence of the watch",
      description:
        "Since the API server was last heard. It climbs to about a minute and falls; beyond three minutes a replica is not ready.",
      unit: "s",
      width: 8,
      queries: [{ expr: `max by (instance) (reflector_silent_seconds{${ofOperator}})`, legend: "{{instance}}" }],
    },
    {
      kind: "TimeSeries",
      title: "Lists and watches",
      description: "Read from the API server. A list every ten minutes and a watch every five to ten are normal.",
      unit: "opm",
      width: 8,
      queries: [
        {
          expr: `60 * sum(rate(reflector_lists_total{${ofOperator}}[$__rate_interval]))`,
          legend: "lists",
        },
        {
          expr: `60 * sum(rate(reflector_watches_total{${ofOperator}}[$__rate_interval]))`,
          legend: "watches",
        },
      ],
    },
    {
      kind: "TimeSeries",
      title: "Memory",
      description: "What the process holds, and the JavaScript heap in it.",
      unit: "bytes",
      width: 8,
      queries: [
        { expr: `max by (instance) (process_resident_memory_bytes{${ofOperator}})`, legend: "{{instance}} resident" },
        { expr: `max by (instance) (nodejs_heap_size_used_bytes{${ofOperator}})`, legend: "{{instance}} heap" },
      ],
    },
    {
      kind: "TimeSeries",
      title: "Processor",
      description: "Time on a processor; 100 % is one core.",
      unit: "percentunit",
      width: 8,
      queries: [
        {
          expr: `max by (instance) (rate(process_cpu_seconds_total{${ofOperator}}[$__rate_interval]))`,
          legend: "{{instance}}",
        },
      ],
    },
    {
      kind: "TimeSeries",
      title: "Event-loop delay, 99 % are quicker",
      description: "How late timers fire: nothing else gets its turn for so long.",
      unit: "s",
      width: 8,
      queries: [
        { expr: quantile(0.99, "endpoint_operator_event_loop_delay_seconds", ["instance"]), legend: "{{instance}}" },
      ],
    },
  ],
};
