/** The first section: whether anything needs attention. */
import { ofOperator, ofResource, type Section } from "../panels/panel-spec.ts";

const redFromOne = { 0: "green", 1: "red" } as const;

/** Shows whether a person must act now. */
export const now: Section = {
  title: "Now",
  height: 4,
  width: 3,
  panels: [
    {
      kind: "Stat",
      title: "Resources",
      description: "ComputeEndpoints chosen above.",
      unit: "short",
      queries: { resources: `count(max by (namespace, name) (compute_endpoint_info{${ofResource}}))` },
    },
    {
      kind: "Stat",
      title: "Not ready",
      description: "Resources that are not Ready. The table below names them; kubectl describe says why.",
      unit: "short",
      thresholds: redFromOne,
      queries: {
        "not ready": `count(max by (namespace, name) (compute_endpoint_condition{${ofResource}, type="Ready", status!="True"})) or vector(0)`,
      },
    },
    {
      kind: "Stat",
      title: "Failed operations",
      description:
        "Failures without a later success of the same action, and not acknowledged. Each of them fires a critical alert.",
      unit: "short",
      thresholds: redFromOne,
      queries: {
        failed: `count(max by (namespace, name, action) (compute_endpoint_operation_failed{${ofResource}})) or vector(0)`,
      },
    },
    {
      kind: "Stat",
      title: "In flight",
      description: "Operations of all resources that have not ended.",
      unit: "short",
      queries: {
        "in flight": `sum(max by (action) (compute_endpoint_operations_in_flight{${ofOperator}})) or vector(0)`,
      },
    },
    {
      kind: "Stat",
      title: "Oldest in flight",
      description: "Age of the oldest operation that has not ended. Only a few actions normally take minutes.",
      unit: "s",
      thresholds: { 0: "green", 300: "orange", 1800: "red" },
      queries: { oldest: `max(compute_endpoint_operation_oldest_in_flight_seconds{${ofResource}}) or vector(0)` },
    },
    {
      kind: "Stat",
      title: "Orphans",
      description:
        "Endpoints with this cluster's token that belong to no resource, retained ones included. They cost money, and the operator never deletes them.",
      unit: "short",
      thresholds: { 0: "green", 1: "orange" },
      queries: { orphans: `max(compute_endpoint_orphans{${ofOperator}})` },
    },
    {
      kind: "Stat",
      title: "Leaders",
      description: "Replicas that act. Always 1, except for moments while another replica takes over.",
      unit: "short",
      thresholds: { 0: "red", 1: "green", 2: "red" },
      queries: { leaders: `sum(leader_election_master_status{${ofOperator}})` },
    },
    {
      kind: "Stat",
      title: "Version",
      description: "The versions that run. There are two during a roll-out.",
      unit: "short",
      showsName: true,
      queries: { "{{version}}": `count by (version) (endpoint_operator_build_info{${ofOperator}})` },
    },
  ],
};
