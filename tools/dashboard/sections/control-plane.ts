/** The section about requests to the control plane. */
import { ofOperator, quantile, type Section } from "../panels/panel-spec.ts";

const rateBy = (by: string, metric: string, more = "") =>
  `sum by (${by}) (rate(${metric}{${ofOperator}${more}}[$__rate_interval]))`;

/** Requests of the operator to the control plane. */
export const controlPlane: Section = {
  title: "Control-plane API",
  height: 8,
  panels: [
    {
      kind: "TimeSeries",
      title: "Requests",
      description:
        "Requests to the control plane by route. At rest their number depends on the projects and not on the resources.",
      unit: "reqps",
      isStacked: true,
      width: 12,
      queries: [{ expr: rateBy("method, route", "control_plane_requests_total"), legend: "{{method}} {{route}}" }],
    },
    {
      kind: "TimeSeries",
      title: "Errors",
      description: "Answers other than 2xx by code, and requests without a usable answer by reason.",
      unit: "reqps",
      width: 12,
      queries: [{ expr: rateBy("code", "control_plane_requests_total", ', code!~"2.."'), legend: "{{code}}" }],
    },
    {
      kind: "TimeSeries",
      title: "Throttled and locked",
      description:
        "TooManyRequests: the control plane answered 429. HeldBack: the operator did not send the request, because the control plane had asked it to wait. ConflictingOperations: 423, the project was locked.",
      unit: "reqps",
      width: 12,
      queries: [
        {
          expr: rateBy("reason, control_plane", "control_plane_throttled_total"),
          legend: "{{reason}} {{control_plane}}",
        },
        { expr: rateBy("reason", "control_plane_locked_total"), legend: "{{reason}}" },
      ],
    },
    {
      kind: "TimeSeries",
      title: "Durations",
      description: "How long the control plane takes to answer. Failed requests are included.",
      unit: "s",
      width: 12,
      queries: [
        { expr: quantile(0.5, "control_plane_request_duration_seconds"), legend: "half are quicker" },
        { expr: quantile(0.99, "control_plane_request_duration_seconds"), legend: "99 % are quicker" },
      ],
    },
  ],
};
