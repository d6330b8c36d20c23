/** The cases of every alert about the operator: it fires, it does not fire, it resolves. */
import { type AlertCase, podA, podB } from "./alert-series.ts";

const build = (pod: string) => `endpoint_operator_build_info{version="1.2.3",${pod}}`;
const leader = (pod: string) => `leader_election_master_status{name="endpoint-operator",namespace="eo",${pod}}`;
const noLeader = [{ labels: { namespace: "eo", name: "endpoint-operator" } }];
const throttled = (reason: string, controlPlane = "settings", target = podA) =>
  `control_plane_throttled_total{reason="${reason}",control_plane="${controlPlane}",${target}}`;
const calls = (controlPlane = "settings", target = podA) =>
  `control_plane_calls_total{control_plane="${controlPlane}",${target}}`;
const queue = (metric: string, name = "computeendpoint") => `${metric}{name="${name}",controller="${name}",${podA}}`;

const credentials = (controlPlane: string, target: string) =>
  `control_plane_credentials_valid{control_plane="${controlPlane}",${target}}`;
const ofSettings = { job: "operator", control_plane: "settings" };
const rejected = { labels: ofSettings };

/** The labels of one of several operators that share a Prometheus. */
const ofOperator = { labels: { job: "operator" } };
/** The labels of another team's operator, which has no problem. */
const well = 'job="theirs",namespace="theirs",instance="d"';

/** The cases of each alert about the operator: it fires, it does not fire, it resolves. */
export const operatorAlertCases: readonly AlertCase[] = [
  {
    alert: "EndpointOperatorDown",
    name: "no replica is scraped for 5 minutes → fires; one is back → resolves",
    series: { [build(podA)]: "1x9 stale _x19 1x20" },
    firing: { "9m30s": [], "10m": [{}], "14m30s": [{}], "15m": [] },
  },
  {
    alert: "EndpointOperatorWithoutLeader",
    name: "replicas run and none leads for 3 minutes → fires; one leads → resolves",
    series: { [build(podA)]: "1x60", [build(podB)]: "1x60", [leader(podA)]: "1x9 0x60", [leader(podB)]: "0x20 1x60" },
    firing: { "7m30s": [], "8m": noLeader, "10m": noLeader, "10m30s": [] },
  },
  {
    alert: "EndpointOperatorWithoutLeader",
    name: "a failover within a minute; another operator that has no leader → no alert",
    series: {
      [build(podA)]: "1x9 stale",
      [build(podB)]: "1x60",
      [leader(podA)]: "1x9 stale",
      [leader(podB)]: "0x11 1x60",
      'leader_election_master_status{name="other",namespace="eo",job="other",instance="c"}': "0x60",
    },
    firing: { "5m30s": [], "6m": [], "20m": [] },
  },
  {
    alert: "EndpointOperatorWatchStale",
    name: "the API server is not heard → fires after 5 minutes; heard again → resolves",
    series: { [`reflector_silent_seconds{name="computeendpoint",${podA}}`]: "0+30x20 5x40" },
    firing: { "5m": [], "5m30s": [ofOperator], "10m": [ofOperator], "10m30s": [] },
  },
  {
    alert: "EndpointOperatorWatchStale",
    name: "a replica that never gets a first list → fires; a start of a minute, and other reflectors → no alert",
    series: {
      [`reflector_synced{name="computeendpoint",${podA}}`]: "1x80",
      [`reflector_synced{name="computeendpoint",${podB}}`]: "0 0 1x10 stale _x5 0x40",
      'reflector_silent_seconds{name="pods",job="other",instance="c"}': "900x80",
    },
    firing: { "3m": [], "6m": [], "10m30s": [], "12m": [ofOperator] },
  },
  {
    alert: "ControlPlaneCredentialsRejected",
    name: "this key, and a team's, is rejected for 2 minutes → pages for this control plane alone; another key → resolves",
    series: {
      [credentials("settings", podA)]: "1x3 0x20 1x40",
      [credentials("ControlPlane/shop/own", podA)]: "0x60",
    },
    firing: { "3m30s": [], "4m": [rejected], "12m": [rejected], "12m30s": [] },
  },
  {
    alert: "TenantControlPlaneCredentialsRejected",
    name: "a team's key is rejected for 2 minutes → fires for its control plane alone; another key → resolves",
    series: {
      [credentials("settings", podA)]: "0x60",
      [credentials("ControlPlane/shop/own", podA)]: "1x3 0x20 1x40",
      [credentials("ClusterControlPlane/north", podA)]: "1x60",
    },
    firing: {
      "3m30s": [],
      "4m": [{ labels: { job: "operator", control_plane: "ControlPlane/shop/own" } }],
      "12m30s": [],
    },
  },
  {
    alert: "ControlPlaneCredentialsRejected",
    name: "another replica takes over → goes on firing",
    series: {
      [credentials("settings", podA)]: "0x9 stale",
      [credentials("settings", podB)]: "_x12 0x60",
    },
    firing: { "4m": [rejected], "5m30s": [rejected], "6m": [rejected], "20m": [rejected] },
  },
  {
    alert: "ControlPlaneCredentialsRejected",
    name: "a key is refused for a minute; no answer yet; another team's operator is rejected → fires for that one alone",
    series: {
      [credentials("settings", podA)]: "1x3 0x2 1x60",
      [credentials("settings", well)]: "0x60",
    },
    firing: {
      "1m30s": [],
      "10m": [{ labels: { job: "theirs", namespace: "theirs", control_plane: "settings" } }],
    },
  },
  {
    alert: "EndpointOperatorOperationsUnseen",
    name: "a snapshot does not go back far enough → fires at once, for an hour",
    series: {
      [`compute_endpoint_operation_log_gaps_total{${podA}}`]: "0x9 1x200",
      [`compute_endpoint_operation_log_gaps_total{${podB}}`]: "0x210",
    },
    firing: { "4m30s": [], "5m30s": [{}], "60m": [{}], "66m": [] },
  },
  {
    alert: "EndpointOperatorOperationsUnseen",
    name: "a new process finds it before it is scraped for the first time → fires, until an hour after its start",
    series: {
      [`compute_endpoint_operation_log_gaps_total{${podA}}`]: "_x20 1x200",
      [`process_start_time_seconds{${podA}}`]: "_x20 590x200",
    },
    firing: { "9m30s": [], "10m30s": [{}], "60m": [{}], "71m": [] },
  },
  {
    alert: "EndpointOperatorOperationsUnseen",
    name: "none ever, and a restart → no alert",
    series: { [`compute_endpoint_operation_log_gaps_total{${podA}}`]: "3x20 0x60" },
    firing: { "5m": [], "20m": [] },
  },
  {
    alert: "EndpointOperatorThrottled",
    name: "a fifth of the calls waits for 20 minutes → fires; no 429 any more → resolves",
    series: {
      [throttled("TooManyRequests")]: "0+1x60 60x80",
      [throttled("HeldBack")]: "0+4x60 240x80",
      [calls()]: "0+25x60 1500+20x80",
    },
    firing: {
      "19m": [],
      "22m": [{ labels: ofSettings, value: "20%" }],
      "30m": [{ labels: ofSettings, value: "20%" }],
      "41m": [],
    },
  },
  {
    alert: "EndpointOperatorThrottled",
    name: "a 429 now and then; no call at all → no alert",
    series: {
      [throttled("TooManyRequests")]: "0+1x60 60x80",
      [throttled("HeldBack")]: "0x140",
      [calls()]: "0+21x60 1260x80",
    },
    firing: { "25m": [], "65m": [] },
  },
  {
    alert: "EndpointOperatorThrottled",
    name: "one team's control plane throttles, beside those with a hundred times as many calls of this operator and of another → fires, for the one",
    series: {
      [throttled("TooManyRequests", "ControlPlane/shop/own")]: "0+5x140",
      [throttled("HeldBack", "ControlPlane/shop/own")]: "0x140",
      [calls("ControlPlane/shop/own")]: "0+25x140",
      [throttled("TooManyRequests")]: "0x140",
      [throttled("HeldBack")]: "0x140",
      [calls()]: "0+2500x140",
      [throttled("TooManyRequests", "ControlPlane/shop/own", well)]: "0x140",
      [calls("ControlPlane/shop/own", well)]: "0+2500x140",
    },
    firing: {
      "10m": [],
      "25m": [{ labels: { job: "operator", control_plane: "ControlPlane/shop/own" }, value: "20%" }],
    },
  },
  {
    alert: "EndpointOperatorQueueNotDraining",
    name: "keys wait two minutes on average → fires; they are taken at once again → resolves",
    series: {
      [queue("workqueue_queue_duration_seconds_sum")]: "0+1205x60 72300+1x80",
      [queue("workqueue_queue_duration_seconds_count")]: "0+10x140",
    },
    firing: {
      "9m": [],
      "12m": [{ ...ofOperator, value: "2m 0s" }],
      "30m": [{ ...ofOperator, value: "2m 0s" }],
      "41m": [],
    },
  },
  {
    alert: "EndpointOperatorQueueNotDraining",
    name: "one reconcile hangs and no key is taken any more → fires; it ends → resolves",
    series: {
      [queue("workqueue_longest_running_processor_seconds")]: "0+30x50 0x20",
      [queue("workqueue_queue_duration_seconds_sum")]: "5x70",
      [queue("workqueue_queue_duration_seconds_count")]: "5x70",
    },
    firing: { "15m": [], "16m": [{ ...ofOperator, value: "16m 0s" }], "26m": [] },
  },
  {
    alert: "EndpointOperatorQueueNotDraining",
    name: "a short burst; another operator's queue → no alert",
    series: {
      [queue("workqueue_queue_duration_seconds_sum")]: "0 6000x60",
      [queue("workqueue_queue_duration_seconds_count")]: "0 50x60",
      [queue("workqueue_longest_running_processor_seconds", "deployment")]: "900x60",
    },
    firing: { "8m": [], "20m": [] },
  },
  {
    alert: "EndpointOperatorWatchStale",
    name: "not one's own operator but another team's is well → fires, for the one",
    series: {
      [`reflector_silent_seconds{name="computeendpoint",${podA}}`]: "0+30x40",
      [`reflector_silent_seconds{name="computeendpoint",${well}}`]: "5x40",
    },
    firing: { "5m": [], "10m": [ofOperator] },
  },
  {
    alert: "EndpointOperatorQueueNotDraining",
    name: "beside another team's operator whose queue is empty → fires, for the one",
    series: {
      [queue("workqueue_queue_duration_seconds_sum")]: "0+1205x60",
      [queue("workqueue_queue_duration_seconds_count")]: "0+10x60",
      [`workqueue_queue_duration_seconds_sum{name="computeendpoint",${well}}`]: "0+1x60",
      [`workqueue_queue_duration_seconds_count{name="computeendpoint",${well}}`]: "0+1000x60",
    },
    firing: { "9m": [], "15m": [{ ...ofOperator, value: "2m 0s" }] },
  },
];
