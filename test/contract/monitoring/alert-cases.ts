/** An alert that must be firing: its labels without `alertname` and `severity`, and its value as the text shows it. */
export interface Firing {
  readonly labels?: Readonly<Record<string, string>>;
  /** What `$value` reads like in the text, where the text shows it. */
  readonly value?: string;
}

/** Series as they are scraped, and what of one alert is firing at which time. */
export interface AlertCase {
  readonly alert: string;
  /** "<state> → <effect>". */
  readonly name: string;
  /** Values by series, one a scrape (30 s), as promtool writes them: `1x9` is ten of them, `stale` what a series that ends leaves. */
  readonly series: Readonly<Record<string, string>>;
  /** By time. An empty list: nothing of this alert is firing. */
  readonly firing: Readonly<Record<string, readonly Firing[]>>;
}

const orders = { namespace: "shop", name: "orders" };
const key = 'namespace="shop",name="orders"';
/** Scraped from the pod that leads, and from the other one. */
const podA = 'job="operator",instance="a",pod="a"';
const podB = 'job="operator",instance="b",pod="b"';
const failed = (pod: string) => `compute_endpoint_operation_failed{${key},action="start_compute",${pod}}`;
const told = (pod: string) => `compute_endpoint_info{${key},endpoint_id="ep-1",${pod}}`;
const oldest = (pod: string) => `compute_endpoint_operation_oldest_in_flight_seconds{${key},${pod}}`;
const condition = (type: string, status: string, pod = podA) =>
  `compute_endpoint_condition{${key},type="${type}",status="${status}",${pod}}`;
const startFailed = [{ labels: { ...orders, action: "start_compute" } }];
const one = [{ labels: orders }];

/** A gap of a minute between two leaders: the old one's series end at 5m, the new one's begin at 6m. */
const ofOldLeader = "1x9 stale";
const ofNewLeader = "_x12 1x60";

const operationFailed: readonly AlertCase[] = [
  {
    alert: "ComputeEndpointOperationFailed",
    name: "an operation fails, later its action succeeds → fires at once, resolves at once",
    series: { [told(podA)]: "1x40", [failed(podA)]: "_x5 1x10 stale" },
    firing: { "2m": [], "2m30s": startFailed, "7m30s": startFailed, "8m": [] },
  },
  {
    alert: "ComputeEndpointOperationFailed",
    name: "two actions of a resource failed, one succeeds → the other goes on firing",
    series: {
      [told(podA)]: "1x40",
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
      [told(podA)]: ofOldLeader,
      [failed(podA)]: ofOldLeader,
      [told(podB)]: ofNewLeader,
      [failed(podB)]: ofNewLeader,
    },
    firing: { "4m": startFailed, "5m": startFailed, "5m30s": startFailed, "6m": startFailed, "10m": startFailed },
  },
  {
    alert: "ComputeEndpointOperationFailed",
    name: "two replicas say so for a moment → one alert",
    series: { [told(podA)]: "1x40", [failed(podA)]: "1x40", [told(podB)]: "1x40", [failed(podB)]: "1x40" },
    firing: { "5m": startFailed },
  },
  {
    alert: "ComputeEndpointOperationFailed",
    name: "the new leader knows of its success → resolves, whatever the old one said last",
    series: { [told(podA)]: ofOldLeader, [failed(podA)]: ofOldLeader, [told(podB)]: ofNewLeader },
    firing: { "5m30s": startFailed, "6m": [] },
  },
  {
    alert: "ComputeEndpointOperationFailed",
    name: "its action has succeeded; a minute later nobody leads, or the resource is deleted → does not come back",
    series: { [told(podA)]: "1x11 stale", [failed(podA)]: "1x9 stale" },
    firing: { "4m30s": startFailed, "5m": [], "6m": [], "7m": [] },
  },
  {
    alert: "ComputeEndpointOperationFailed",
    name: "nobody leads any more, or the resource is deleted → resolves after three minutes",
    series: { [told(podA)]: ofOldLeader, [failed(podA)]: ofOldLeader },
    firing: { "7m": startFailed, "8m30s": [] },
  },
];

const resources: readonly AlertCase[] = [
  {
    alert: "ComputeEndpointOperationStuck",
    name: "in flight for more than 15 minutes → fires; the operation ends → resolves",
    series: { [told(podA)]: "1x80", [oldest(podA)]: "0+30x40 stale" },
    firing: { "15m": [], "16m": [], "17m": [{ labels: orders, value: "17m 0s" }], "21m": [] },
  },
  {
    alert: "ComputeEndpointOperationStuck",
    name: "one operation after another, each short → silent",
    series: { [told(podA)]: "1x80", [oldest(podA)]: "0 300 600 0 300 600 0 300 600 0 300 600 0 300 600 0x20" },
    firing: { "5m": [], "10m": [] },
  },
  {
    alert: "ComputeEndpointOperationStuck",
    name: "another replica takes over → goes on firing",
    series: {
      [told(podA)]: ofOldLeader,
      [oldest(podA)]: "1000x9 stale",
      [told(podB)]: ofNewLeader,
      [oldest(podB)]: "_x12 1060x60",
    },
    firing: { "4m": [{ labels: orders, value: "16m 40s" }], "5m30s": [{ labels: orders, value: "16m 40s" }] },
  },
  {
    alert: "ComputeEndpointNotReady",
    name: "not Ready for 15 minutes → fires; Ready → resolves at once",
    series: {
      [told(podA)]: "1x80",
      [condition("Ready", "False")]: "1x40 stale",
      [condition("Ready", "True")]: "_x41 1x30",
    },
    firing: { "14m30s": [], "15m": one, "20m": one, "20m30s": [] },
  },
  {
    alert: "ComputeEndpointNotReady",
    name: "Ready in between, Unknown because it is paused → silent",
    series: {
      [told(podA)]: "1x80",
      [condition("Ready", "False")]: "1x20 stale _x1 1x20 stale",
      [condition("Ready", "Unknown")]: "_x44 1x40",
    },
    firing: { "15m": [], "21m": [], "40m": [] },
  },
  {
    alert: "ComputeEndpointNotReady",
    name: "Stalled, or the key is rejected → silent: those have alerts of their own",
    series: {
      [told(podA)]: "1x80",
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
      [told(podA)]: ofOldLeader,
      [condition("Ready", "False")]: ofOldLeader,
      [told(podB)]: ofNewLeader,
      [condition("Ready", "False", podB)]: ofNewLeader,
    },
    firing: { "14m30s": [], "15m": one, "30m": one },
  },
  {
    alert: "ComputeEndpointStalled",
    name: "Stalled for 5 minutes → fires; it goes on → resolves",
    series: { [told(podA)]: "1x60", [condition("Stalled", "True")]: "_x2 1x20 stale" },
    firing: { "5m30s": [], "6m30s": one, "11m": one, "12m": [] },
  },
  {
    alert: "ComputeEndpointStalled",
    name: "another replica takes over → goes on firing",
    series: {
      [told(podA)]: "1x19 stale",
      [condition("Stalled", "True")]: "1x19 stale",
      [told(podB)]: "_x22 1x60",
      [condition("Stalled", "True", podB)]: "_x22 1x60",
    },
    firing: { "5m": one, "10m30s": one, "12m": one },
  },
];

const build = (pod: string) => `endpoint_operator_build_info{version="1.2.3",${pod}}`;
const leader = (pod: string) => `leader_election_master_status{name="endpoint-operator",namespace="eo",${pod}}`;
const noLeader = [{ labels: { namespace: "eo", name: "endpoint-operator" } }];
const throttled = (reason: string) => `control_plane_throttled_total{reason="${reason}",${podA}}`;
const requests = (code: string) =>
  `control_plane_requests_total{route="/projects/{project_id}/operations",method="GET",code="${code}",${podA}}`;
const queue = (metric: string, name = "computeendpoint") => `${metric}{name="${name}",controller="${name}",${podA}}`;

const operator: readonly AlertCase[] = [
  {
    alert: "EndpointOperatorDown",
    name: "no replica is scraped for 5 minutes → fires; one is back → resolves",
    series: { [build(podA)]: "1x9 stale _x19 1x20" },
    firing: { "9m30s": [], "10m": [{}], "14m30s": [{}], "15m": [] },
  },
  {
    alert: "EndpointOperatorDown",
    name: "one of two replicas goes → silent",
    series: { [build(podA)]: "1x9 stale", [build(podB)]: "1x60" },
    firing: { "12m": [], "20m": [] },
  },
  {
    alert: "EndpointOperatorWithoutLeader",
    name: "replicas run and none leads for 3 minutes → fires; one leads → resolves",
    series: { [build(podA)]: "1x60", [build(podB)]: "1x60", [leader(podA)]: "1x9 0x60", [leader(podB)]: "0x20 1x60" },
    firing: { "7m30s": [], "8m": noLeader, "10m": noLeader, "10m30s": [] },
  },
  {
    alert: "EndpointOperatorWithoutLeader",
    name: "a failover within a minute; another operator that has no leader → silent",
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
    firing: { "5m": [], "5m30s": [{}], "10m": [{}], "10m30s": [] },
  },
  {
    alert: "EndpointOperatorWatchStale",
    name: "a replica that never gets a first list → fires; a start of a minute, and other reflectors → silent",
    series: {
      [`reflector_synced{name="computeendpoint",${podA}}`]: "1x80",
      [`reflector_synced{name="computeendpoint",${podB}}`]: "0 0 1x10 stale _x5 0x40",
      'reflector_silent_seconds{name="pods",job="other",instance="c"}': "900x80",
    },
    firing: { "3m": [], "6m": [], "10m30s": [], "12m": [{}] },
  },
  {
    alert: "EndpointOperatorCredentialsRejected",
    name: "the key is rejected → one alert for all resources; another key → resolves",
    series: {
      [told(podA)]: "1x60",
      [condition("CredentialsValid", "False")]: "_x2 1x20 stale",
      [condition("CredentialsValid", "False").replace("orders", "crm")]: "_x2 1x20 stale",
      [told(podA).replace("orders", "crm")]: "1x60",
    },
    firing: { "2m30s": [], "3m30s": [{ value: "2" }], "11m": [{ value: "2" }], "12m": [] },
  },
  {
    alert: "EndpointOperatorCredentialsRejected",
    name: "another replica takes over → goes on firing",
    series: {
      [told(podA)]: ofOldLeader,
      [condition("CredentialsValid", "False")]: ofOldLeader,
      [told(podB)]: ofNewLeader,
      [condition("CredentialsValid", "False", podB)]: ofNewLeader,
    },
    firing: { "4m": [{ value: "1" }], "5m30s": [{ value: "1" }], "6m": [{ value: "1" }] },
  },
  {
    alert: "EndpointOperatorCredentialsRejected",
    name: "the key is accepted → silent",
    series: { [told(podA)]: "1x60", [condition("CredentialsValid", "True")]: "1x60" },
    firing: { "10m": [] },
  },
  {
    alert: "EndpointOperatorOperationsUnseen",
    name: "a reading does not go back far enough → fires at once, for an hour",
    series: {
      [`compute_endpoint_operation_log_gaps_total{${podA}}`]: "0x9 1x200",
      [`compute_endpoint_operation_log_gaps_total{${podB}}`]: "0x210",
    },
    firing: { "4m30s": [], "5m30s": [{}], "60m": [{}], "66m": [] },
  },
  {
    alert: "EndpointOperatorOperationsUnseen",
    name: "none ever, and a restart → silent",
    series: { [`compute_endpoint_operation_log_gaps_total{${podA}}`]: "3x20 0x60" },
    firing: { "5m": [], "20m": [] },
  },
  {
    alert: "EndpointOperatorThrottled",
    name: "a fifth of the calls waits for 20 minutes → fires; no 429 any more → resolves",
    series: {
      [throttled("TooManyRequests")]: "0+1x60 60x80",
      [throttled("HeldBack")]: "0+4x60 240x80",
      [requests("200")]: "0+20x140",
      [requests("429")]: "0+1x60 60x80",
    },
    firing: { "19m": [], "22m": [{ value: "20%" }], "30m": [{ value: "20%" }], "41m": [] },
  },
  {
    alert: "EndpointOperatorThrottled",
    name: "a 429 now and then; no call at all → silent",
    series: {
      [throttled("TooManyRequests")]: "0+1x60 60x80",
      [throttled("HeldBack")]: "0x140",
      [requests("200")]: "0+20x60 1200x80",
      [requests("429")]: "0+1x60 60x80",
    },
    firing: { "25m": [], "65m": [] },
  },
  {
    alert: "EndpointOperatorQueueNotDraining",
    name: "keys wait two minutes on average → fires; they are taken at once again → resolves",
    series: {
      [queue("workqueue_queue_duration_seconds_sum")]: "0+1205x60 72300+1x80",
      [queue("workqueue_queue_duration_seconds_count")]: "0+10x140",
    },
    firing: { "9m": [], "12m": [{ value: "2m 0s" }], "30m": [{ value: "2m 0s" }], "41m": [] },
  },
  {
    alert: "EndpointOperatorQueueNotDraining",
    name: "one pass hangs and nothing is taken any more → fires; it ends → resolves",
    series: {
      [queue("workqueue_longest_running_processor_seconds")]: "0+30x50 0x20",
      [queue("workqueue_queue_duration_seconds_sum")]: "5x70",
      [queue("workqueue_queue_duration_seconds_count")]: "5x70",
    },
    firing: { "15m": [], "16m": [{ value: "16m 0s" }], "26m": [] },
  },
  {
    alert: "EndpointOperatorQueueNotDraining",
    name: "a short burst; another operator's queue → silent",
    series: {
      [queue("workqueue_queue_duration_seconds_sum")]: "0 6000x60",
      [queue("workqueue_queue_duration_seconds_count")]: "0 50x60",
      [queue("workqueue_longest_running_processor_seconds", "deployment")]: "900x60",
    },
    firing: { "8m": [], "20m": [] },
  },
];

/** For each alert: it fires, it does not, it resolves. */
export const alertCases: readonly AlertCase[] = [...operationFailed, ...resources, ...operator];
