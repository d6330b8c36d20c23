/** Settings that make an operator fast enough for tests. */

/** The settings of an operator under test. Its times are short, so that tests wait for states and not for pauses. */
export const quickSettings = {
  PROJECT_POLL_SECONDS: "1",
  CREATE_SETTLE_SECONDS: "2",
  // Such frequent polls need more requests than an account allows.
  CONTROL_PLANE_REQUESTS_PER_MINUTE: "100000",
  CONTROL_PLANE_REQUESTS_PER_SECOND: "10000",
  METRICS_ADDR: "127.0.0.1:0",
  HEALTH_ADDR: "127.0.0.1:0",
  LEADER_ELECTION: "false",
  LOG_LEVEL: "debug",
};
