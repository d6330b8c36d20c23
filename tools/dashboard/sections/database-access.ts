/** The section about DatabaseAccesses and API keys. */
import { ofOperator, ofResource, type Section } from "../panels/panel-spec.ts";

const perMinute = (by: string, metric: string) =>
  `60 * sum by (${by}) (rate(${metric}{${ofOperator}}[$__rate_interval]))`;

/** Shows what DatabaseAccesses give to applications, and whether control planes accept the operator's keys. */
export const databaseAccess: Section = {
  title: "Database access and credentials",
  height: 8,
  width: 8,
  panels: [
    {
      kind: "TimeSeries",
      title: "Readiness of accesses",
      description:
        "DatabaseAccesses whose role, database and Secret are as their spec says, and those where this is not so.",
      unit: "short",
      isStacked: true,
      colors: { ready: "green", "not ready": "red" },
      queries: {
        ready: `count(max by (namespace, name) (database_access_ready{${ofResource}}) == 1)`,
        "not ready": `count(max by (namespace, name) (database_access_ready{${ofResource}}) == 0)`,
      },
    },
    {
      kind: "Table",
      title: "Accesses that are not ready",
      description: "Their Secret is missing or may be out of date. kubectl describe dba says why and what to do.",
      columns: ["namespace", "name"],
      queries: { "": `1 - max by (namespace, name) (database_access_ready{${ofResource}}) > 0` },
    },
    {
      kind: "BarGauge",
      title: "Oldest passwords",
      description:
        "Time since the operator reset a password, or since it first read it. Shows the 20 accesses with the oldest passwords.",
      unit: "s",
      queries: {
        "{{namespace}}/{{name}}": `topk(20, max by (namespace, name) (database_access_password_age_seconds{${ofResource}}))`,
      },
    },
    {
      kind: "TimeSeries",
      title: "Secret writes, by cause",
      description:
        "Created: a new Secret. ConnectionChanged: another host, role or database. Restored: the Secret was edited or deleted. Rotated: another password.",
      unit: "opm",
      queries: { "{{cause}}": perMinute("cause", "database_access_secret_writes_total") },
    },
    {
      kind: "TimeSeries",
      title: "Password resets",
      description: "Passwords that the control plane reset because a rotation was due or requested.",
      unit: "opm",
      queries: { resets: `60 * sum(rate(database_access_password_resets_total{${ofOperator}}[$__rate_interval]))` },
    },
    {
      kind: "TimeSeries",
      title: "Accepted API keys",
      description: "1 while the control plane accepts the operator's API key, 0 while it refuses it with 401.",
      unit: "short",
      queries: { "{{control_plane}}": `min by (control_plane) (control_plane_credentials_valid{${ofOperator}})` },
    },
  ],
};
