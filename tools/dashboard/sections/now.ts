/** The first section: whether anything needs attention. */
import { ofOperator, ofResource, type Section } from "../panels/panel-spec.ts";

const redFromOne = [
  { from: 0, color: "green" },
  { from: 1, color: "red" },
] as const;

/** Shows whether a person must act now. */
export const now: Section = {
  title: "Now",
  height: 4,
  panels: [
    {
      kind: "Stat",
      title: "Resources",
      description: "ComputeEndpoints chosen above.",
      unit: "short",
      thresholds: [],
      width: 3,
      queries: [
        { expr: `count(max by (namespace, name) (compute_endpoint_info{${ofResource}}))`, legend: "resources" },
      ],
    },
    {
      kind: "Stat",
      title: "Not ready",
      description: "Resources that are not Ready. The table below names them; kubectl describe says why.",
      unit: "short",
      thresholds: redFromOne,
      width: 3,
      queries: [
        {
          expr: `count(max by (namespace, name) (compute_endpoint_condition{${ofResource}, type="Ready", status!="True"})) or vector(0)`,
          legend: "not ready",
        },
      ],
    },
    {
      kind: "Stat",
      title: "Failed operations",
      description:
        "Failures without a later success of the same action, and not acknowledged. Each of them fires a critical alert.",
      unit: "short",
      thresholds: redFromOne,
      width: 3,
      queries: [
        {
          expr: `count(max by (namespace, name, action) (compute_endpoint_operation_failed{${ofResource}})) or vector(0)`,
          legend: "failed",
        },
      ],
    },
    {
      kind: "Stat",
      title: "In flight",
      description: "Operations of all resources that have not ended.",
      unit: "short",
      thresholds: [],
      width: 3,
      queries: [
        {
          expr: `sum(max by (action) (compute_endpoint_operations_in_flight{${ofOperator}})) or vector(0)`,
          legend: "in flight",
        },
      ],
    },
    {
      kind: "Stat",
      title: "Oldest in flight",
      description: "Age of the oldest operation that has not ended. Only a few actions normally take minutes.",
      unit: "s",
      thresholds: [
        { from: 0, color: "green" },
        { from: 300, color: "orange" },
        { from: 1_800, color: "red" },
      ],
      width: 3,
      queries: [
        {
          expr: `max(compute_endpoint_operation_oldest_in_flight_seconds{${ofResource}}) or vector(0)`,
          legend: "oldest",
        },
      ],
    },
    {
      kind: "Stat",
      title: "Orphans",
      description:
        "Endpoints with this cluster's token that belong to no resource, retained ones included. They cost money, and the operator never deletes them.",
      unit: "short",
      thresholds: [
        { from: 0, color: "green" },
        { from: 1, color: "orange" },
      ],
      width: 3,
      queries: [{ expr: `max(compute_endpoint_orphans{${ofOperator}})`, legend: "orphans" }],
    },
    {
      kind: "Stat",
      title: "Leaders",
      description: "Replicas that act. Always 1, except for moments while another replica takes over.",
      unit: "short",
      thresholds: [
        { from: 0, color: "red" },
        { from: 1, color: "green" },
        { from: 2, color: "red" },
      ],
      width: 3,
      queries: [{ expr: `sum(leader_election_master_status{${ofOperator}})`, legend: "leaders" }],
    },
    {
      kind: "Stat",
      title: "Version",
      description: "The versions that run. There are two during a roll-out.",
      unit: "short",
      thresholds: [],
      showsName: true,
      width: 3,
      queries: [{ expr: `count by (version) (endpoint_operator_build_info{${ofOperator}})`, legend: "{{version}}" }],
    },
  ],
};
