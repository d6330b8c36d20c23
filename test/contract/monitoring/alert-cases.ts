/** The cases of every alert about resources: it fires, it does not fire, it resolves. */
import {
  type AlertCase,
  condition,
  exported,
  key,
  ofNewLeader,
  ofOldLeader,
  orders,
  podA,
  podB,
} from "./alert-series.ts";
import { operatorAlertCases } from "./operator-alert-cases.ts";

const failed = (pod: string) => `compute_endpoint_operation_failed{${key},action="start_compute",${pod}}`;
const failures = (pod: string) => `compute_endpoint_operation_failures_total{${key},action="start_compute",${pod}}`;
const oldest = (pod: string) => `compute_endpoint_operation_oldest_in_flight_seconds{${key},${pod}}`;
const startFailed = [{ labels: { ...orders, action: "start_compute" } }];
const one = [{ labels: orders }];

const failedBriefly: readonly AlertCase[] = [
  {
    alert: "ComputeEndpointOperationFailedBriefly",
    name: "the first failure of a resource heals before the gauge shows it → fires at once, resolves after ten minutes",
    series: { [failures(podA)]: "_x5 1x60" },
    firing: { "2m": [], "2m30s": startFailed, "12m": startFailed, "13m": [], "25m": [] },
  },
  {
    alert: "ComputeEndpointOperationFailedBriefly",
    name: "a further failure → fires again, and resolves",
    series: { [failures(podA)]: "1x39 2x60" },
    firing: { "19m": [], "20m": startFailed, "29m": startFailed, "31m": [] },
  },
  {
    alert: "ComputeEndpointOperationFailedBriefly",
    name: "the gauge shows the failure → not a second alert",
    series: { [failures(podA)]: "_x5 1x60", [failed(podA)]: "_x5 1x10 stale" },
    firing: { "3m": [], "9m": [], "12m": [] },
  },
  {
    alert: "ComputeEndpointOperationFailedBriefly",
    name: "scrapes fail for a while, long after the last failure → does not fire",
    series: { [failures(podA)]: "3x39 stale _x9 3x60" },
    firing: { "15m": [], "26m": [], "31m": [], "36m": [] },
  },
  {
    alert: "ComputeEndpointOperationFailedBriefly",
    name: "another replica takes over and counts a failure → fires for that one",
    series: { [failures(podA)]: "1x39 stale", [failures(podB)]: "_x60 1x60" },
    firing: { "25m": [], "31m": startFailed, "41m": [] },
  },
];

const operationFailed: readonly AlertCase[] = [
  {
    alert: "ComputeEndpointOperationFailed",
    name: "an operation fails, later its action succeeds → fires at once, resolves at once",
    series: { [exported(podA)]: "1x40", [failed(podA)]: "_x5 1x10 stale" },
    firing: { "2m": [], "2m30s": startFailed, "7m30s": startFailed, "8m": [] },
  },
  {
    alert: "ComputeEndpointOperationFailed",
    name: "a suspend or a check fails → a warning, because no database stops",
    series: {
      [exported(podA)]: "1x40",
      [failed(podA).replace("start_compute", "suspend_compute")]: "1x40",
      [failed(podA).replace("start_compute", "check_availability")]: "1x40",
    },
    firing: {
      "5m": ["suspend_compute", "check_availability"].map((action) => ({ labels: { ...orders, action } })),
    },
  },
  {
    alert: "ComputeEndpointOperationFailed",
    name: "two actions of a resource failed, one succeeds → the other goes on firing",
    series: {
      [exported(podA)]: "1x40",
      [failed(podA)]: "1x40",
      [failed(podA).replace("start_compute", "apply_config")]: "1x10 stale",
    },
    firing: {
      "5m": [{ labels: { ...orders, action: "apply_config" } }, ...startFailed],
      "6m": startFailed,
    },
  },
  {
    alert: "ComputeEndpointOperationFailed",
    name: "another replica takes over → one alert throughout, not resolved in between",
    series: {
      [exported(podA)]: ofOldLeader,
      [failed(podA)]: ofOldLeader,
      [exported(podB)]: ofNewLeader,
      [failed(podB)]: ofNewLeader,
    },
    firing: { "4m": startFailed, "5m": startFailed, "5m30s": startFailed, "6m": startFailed, "10m": startFailed },
  },
  {
    alert: "ComputeEndpointOperationFailed",
    name: "two replicas say so for a moment → one alert",
    series: { [exported(podA)]: "1x40", [failed(podA)]: "1x40", [exported(podB)]: "1x40", [failed(podB)]: "1x40" },
    firing: { "5m": startFailed },
  },
  {
    alert: "ComputeEndpointOperationFailed",
    name: "the new leader knows of its success → resolves, whatever the old one reported last",
    series: { [exported(podA)]: ofOldLeader, [failed(podA)]: ofOldLeader, [exported(podB)]: ofNewLeader },
    firing: { "5m30s": startFailed, "6m": [] },
  },
  {
    alert: "ComputeEndpointOperationFailed",
    name: "its action has succeeded; a minute later no replica leads, or the resource is deleted → does not come back",
    series: { [exported(podA)]: "1x11 stale", [failed(podA)]: "1x9 stale" },
    firing: { "4m30s": startFailed, "5m": [], "6m": [], "7m": [] },
  },
  {
    alert: "ComputeEndpointOperationFailed",
    name: "no replica leads any more, or the resource is deleted → resolves after three minutes",
    series: { [exported(podA)]: ofOldLeader, [failed(podA)]: ofOldLeader },
    firing: { "7m": startFailed, "8m30s": [] },
  },
];

const resources: readonly AlertCase[] = [
  {
    alert: "ComputeEndpointOperationStuck",
    name: "in flight for more than 15 minutes → fires; the operation ends → resolves",
    series: { [exported(podA)]: "1x80", [oldest(podA)]: "0+30x40 stale" },
    firing: { "15m": [], "16m": [], "17m": [{ labels: orders, value: "17m 0s" }], "21m": [] },
  },
  {
    alert: "ComputeEndpointNotReady",
    name: "not Ready for 15 minutes → fires; Ready → resolves at once",
    series: {
      [exported(podA)]: "1x80",
      [condition("Ready", "False")]: "1x40 stale",
      [condition("Ready", "True")]: "_x41 1x30",
    },
    firing: { "14m30s": [], "15m": one, "20m": one, "20m30s": [] },
  },
  {
    alert: "ComputeEndpointNotReady",
    name: "Ready in between, Unknown because it is paused → no alert",
    series: {
      [exported(podA)]: "1x80",
      [condition("Ready", "False")]: "1x20 stale _x1 1x20 stale",
      [condition("Ready", "Unknown")]: "_x44 1x40",
    },
    firing: { "15m": [], "21m": [], "40m": [] },
  },
  {
    alert: "ComputeEndpointNotReady",
    name: "Stalled, or the key is rejected → no alert here: those have alerts of their own",
    series: {
      [exported(podA)]: "1x80",
      [condition("Ready", "False")]: "1x80",
      [condition("Stalled", "True")]: "1x40 stale",
      [condition("CredentialsValid", "False")]: "_x40 1x40",
    },
    firing: { "16m": [], "20m": [], "39m": [] },
  },
  {
    alert: "ComputeEndpointNotReady",
    name: "another replica takes over meanwhile → fires as early as without that",
    series: {
      [exported(podA)]: ofOldLeader,
      [condition("Ready", "False")]: ofOldLeader,
      [exported(podB)]: ofNewLeader,
      [condition("Ready", "False", podB)]: ofNewLeader,
    },
    firing: { "14m30s": [], "15m": one, "30m": one },
  },
  {
    alert: "ComputeEndpointStalled",
    name: "Stalled for 5 minutes → fires; it goes on → resolves",
    series: { [exported(podA)]: "1x60", [condition("Stalled", "True")]: "_x2 1x20 stale" },
    firing: { "5m30s": [], "6m30s": one, "11m": one, "12m": [] },
  },
];

const pendingFor = `compute_endpoint_change_pending_seconds{${key},${podA}}`;

const pendingChanges: readonly AlertCase[] = [
  {
    alert: "ComputeEndpointChangePending",
    name: "a change waits for more than a week → fires five minutes later; it is sent → resolves",
    series: { [exported(podA)]: "1x60", [pendingFor]: "604770+30x30 stale" },
    firing: { "5m": [], "6m30s": one, "14m": one, "16m": [] },
  },
  {
    alert: "ComputeEndpointNotReady",
    name: "a move waits by spec.disruption → does not fire; an operation beside it does not end → fires",
    series: {
      [exported(podA)]: "1x120",
      [condition("Ready", "False")]: "1x120",
      [condition("ChangePending", "True")]: "1x120",
      [oldest(podA)]: "_x60 0+30x60",
    },
    firing: { "20m": [], "29m": [], "46m": one },
  },
];

const access = (pod: string) => `database_access_ready{${key},${pod}}`;

const accesses: readonly AlertCase[] = [
  {
    alert: "DatabaseAccessNotReady",
    name: "not Ready for 15 minutes → fires; Ready → resolves at once",
    series: { [exported(podA)]: "1x80", [access(podA)]: "1 0x40 1x30" },
    firing: { "15m": [], "15m30s": one, "20m": one, "21m": [] },
  },
  {
    alert: "DatabaseAccessNotReady",
    name: "another replica takes over, and a ComputeEndpoint has the same name → goes on firing",
    series: {
      [exported(podA)]: "1x39 stale",
      [access(podA)]: "0x39 stale",
      [exported(podB)]: "_x40 1x60",
      [access(podB)]: "_x42 0x60",
    },
    firing: { "15m": one, "19m30s": one, "20m30s": one, "21m30s": one, "30m": one },
  },
];

const branch = (name: string, pod: string) => `database_branch_${name}{${key},${pod}}`;

const branches: readonly AlertCase[] = [
  {
    alert: "DatabaseBranchNotReady",
    name: "not Ready for 15 minutes → fires; while it is being deleted → no alert",
    series: {
      [branch("info", podA)]: "1x80",
      [branch("ready", podA)]: "1 0x80",
      [branch("deleting_seconds", podA)]: "_x44 0+30x40",
    },
    firing: { "15m": [], "15m30s": one, "20m": one, "23m": [] },
  },
  {
    alert: "DatabaseBranchNotDeleted",
    name: "a deletion of more than 15 minutes → fires; gone → resolves",
    series: { [branch("info", podA)]: "1x60 stale", [branch("deleting_seconds", podA)]: "0+30x60 stale" },
    firing: { "15m": [], "16m": [{ labels: orders, value: "16m 0s" }], "40m": [] },
  },
  {
    alert: "BranchExpiresSoon",
    name: "less than a quarter of the lease is left → fires; it is renewed → resolves",
    series: { [branch("info", podA)]: "1x60", [branch("lease_left", podA)]: "0.4x10 0.2x10 1x40" },
    firing: { "4m": [], "6m": one, "12m": [] },
  },
];

const unsuspended = (pod: string) => `compute_endpoint_unsuspended_seconds{${key},${pod}}`;
const starts = (pod: string) => `compute_endpoint_starts_total{${key},${pod}}`;

const costs: readonly AlertCase[] = [
  {
    alert: "ComputeEndpointNeverSuspends",
    name: "a compute with a suspend delay runs for more than a day → fires; it suspends → resolves",
    series: { [exported(podA)]: "1x60", [unsuspended(podA)]: "86100+30x30 stale" },
    firing: { "5m": [], "11m": [{ labels: orders, value: "1d 0h 6m 0s" }], "16m": [] },
  },
  {
    alert: "ComputeEndpointStartsOften",
    name: "a start every two minutes → fires within an hour; it ends → resolves",
    series: { [starts(podA)]: "5+0x119 5+1x30 35+0x240" },
    firing: { "59m": [], "1h14m30s": [{ labels: orders, value: "29" }], "2h20m": [] },
  },
  {
    alert: "ComputeEndpointStartsOften",
    name: "another replica takes over and shows the same number → does not fire",
    series: { [starts(podA)]: "500x60 stale", [starts(podB)]: "_x65 500x120" },
    firing: { "30m": [], "34m": [], "1h": [] },
  },
];

/** The cases of each alert: it fires, it does not fire, it resolves. */
export const alertCases: readonly AlertCase[] = [
  ...failedBriefly,
  ...operationFailed,
  ...resources,
  ...accesses,
  ...branches,
  ...pendingChanges,
  ...costs,
  ...operatorAlertCases,
];
