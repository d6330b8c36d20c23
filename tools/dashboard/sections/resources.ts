/** The section about the state of resources. */
import { ofResource, type Section } from "../panels/panel-spec.ts";

const troubledConditions = [
  `max by (namespace, name, type, status) (compute_endpoint_condition{${ofResource}, type=~"Ready|LastOperationSucceeded|CredentialsValid", status!="True"})`,
  `max by (namespace, name, type, status) (compute_endpoint_condition{${ofResource}, type="Stalled", status="True"})`,
].join(" or ");

const failedWithEndpoint = [
  `max by (namespace, name, action) (compute_endpoint_operation_failed{${ofResource}})`,
  "* on (namespace, name) group_left (project_id, endpoint_id)",
  `max by (namespace, name, project_id, endpoint_id) (compute_endpoint_info{${ofResource}})`,
].join(" ");

/** The state of the resources. */
export const resources: Section = {
  title: "Resources",
  height: 8,
  width: 12,
  panels: [
    {
      kind: "TimeSeries",
      title: "Readiness",
      description: "Resources by the status of their condition Ready.",
      unit: "short",
      isStacked: true,
      colors: { "Ready True": "green", "Ready False": "red", "Ready Unknown": "orange" },
      queries: {
        "Ready {{status}}": `count by (status) (max by (namespace, name, status) (compute_endpoint_condition{${ofResource}, type="Ready"}))`,
      },
    },
    {
      kind: "TimeSeries",
      title: "States",
      description: "Endpoints by their last known state. Idle is healthy: the next connection starts the compute.",
      unit: "short",
      isStacked: true,
      queries: {
        "{{state}}": `count by (state) (max by (namespace, name, state) (compute_endpoint_state{${ofResource}}))`,
      },
    },
    {
      kind: "Table",
      title: "Conditions that need a look",
      description:
        "One row for each condition that is bad: not Ready, Stalled, a failed operation, refused credentials.",
      columns: ["namespace", "name", "type", "status"],
      queries: { "": troubledConditions },
    },
    {
      kind: "Table",
      title: "Failed operations",
      description:
        "Open failures, with the ids to look for at the control plane. The resource's status has the text of the error.",
      columns: ["namespace", "name", "action", "project_id", "endpoint_id"],
      queries: { "": failedWithEndpoint },
    },
  ],
};
