/** The section about requests to the control plane. */
import { ofOperator, quantile, type Section } from "../panels/panel-spec.ts";

const rateBy = (by: string, metric: string, more = "") =>
  `sum by (${by}) (rate(${metric}{${ofOperator}${more}}[$__rate_interval]))`;

/** Requests of the operator to the control plane. */
export const controlPlane: Section = {
  title: "Control-plane API",
  height: 8,
  width: 12,
  panels: [
    {
      kind: "TimeSeries",
      title: "Requests",
      description:
        "Requests to the control plane by route. At rest their number depends on the projects and not on the resources.",
      unit: "reqps",
      isStacked: true,
      queries: { "{{method}} {{route}}": rateBy("method, route", "control_plane_requests_total") },
    },
    {
      kind: "TimeSeries",
      title: "Errors",
      description: "Answers other than 2xx by code, and requests without a usable answer by reason.",
      unit: "reqps",
      queries: { "{{code}}": rateBy("code", "control_plane_requests_total", ', code!~"2.."') },
    },
    {
      kind: "TimeSeries",
      title: "Throttled and locked",
      description:
        "TooManyRequests: the control plane answered 429. HeldBack: the operator did not send the request, because the control plane had asked it to wait. ConflictingOperations: 423, the project was locked.",
      unit: "reqps",
      queries: {
        "{{reason}} {{control_plane}}": rateBy("reason, control_plane", "control_plane_throttled_total"),
        "{{reason}}": rateBy("reason", "control_plane_locked_total"),
      },
    },
    {
      kind: "TimeSeries",
      title: "Durations",
      description: "How long the control plane takes to answer. Failed requests are included.",
      unit: "s",
      queries: {
        "half are quicker": quantile(0.5, "control_plane_request_duration_seconds"),
        "99 % are quicker": quantile(0.99, "control_plane_request_duration_seconds"),
      },
    },
  ],
};
