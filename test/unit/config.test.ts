/** Tests how settings are parsed. */
import { describe, expect, test } from "vitest";
import { ConfigError, type Environment, parseConfig } from "../../src/config.ts";

const url = "https://control-plane.example/api/v2";
const required: Environment = { CONTROL_PLANE_URL: url, CONTROL_PLANE_API_KEY_FILE: "/etc/key" };
const fakeKey = "not-a-real-key-7f3a";

function problemsOf(environment: Environment): string[] {
  try {
    parseConfig(environment);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    const [head, ...lines] = (error as ConfigError).message.split("\n");
    expect(head).toBe("bad configuration:");
    return lines.map((line) => line.trim());
  }
  return [];
}

describe("parseConfig", () => {
  test("every setting given → every one of them read", () => {
    const config = parseConfig({
      CONTROL_PLANE_URL: "http://127.0.0.1:8787/api/v2/",
      CONTROL_PLANE_API_KEY: fakeKey,
      KUBECONFIG: "a:b",
      WATCH_NAMESPACES: "shop, crm,shop",
      METRICS_ADDR: "[::]:9090",
      METRICS_AUTH: "Token",
      HEALTH_ADDR: "localhost:0",
      LOG_LEVEL: "debug",
      WORKERS: "4",
      OPERATION_POLL_SECONDS: "0.25",
      PROJECT_POLL_SECONDS: "60",
      RESYNC_SECONDS: "3600",
      PROJECT_GRANTS: "Required",
      LEADER_ELECTION: "false",
      LEASE_NAMESPACE: "operators",
      LEASE_NAME: "lease.one",
      CLUSTER_ID: "west-1",
      CREATE_SETTLE_SECONDS: "2",
      CONTROL_PLANE_REQUESTS_PER_MINUTE: "1200",
      CONTROL_PLANE_REQUESTS_PER_SECOND: "60",
      HTTPS_PROXY: "me:fake@proxy.example:3128",
      NO_PROXY: ".svc,.cluster.local",
      TENANT_CONTROL_PLANE_HOSTS: "Control.example., *.north.example,127.1,[0:0::1]",
      DATABASE_PORT: "6432",
      DATABASE_SSL_MODE: "verify-full",
      DATABASE_CA_FILE: "/etc/databases/ca.crt",
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector.example:4318/",
      UNRELATED: "x",
    });
    expect(config).toEqual({
      controlPlaneUrl: "http://127.0.0.1:8787/api/v2",
      apiKey: { kind: "Value", value: fakeKey },
      kubeconfig: "a:b",
      watchNamespaces: ["shop", "crm"],
      metricsAddress: { host: "::", port: 9090 },
      metricsAuth: "Token",
      healthAddress: { host: "localhost", port: 0 },
      logLevel: "debug",
      workers: 4,
      operationPollMs: 250,
      projectPollMs: 60_000,
      resyncMs: 3_600_000,
      projectGrants: "Required",
      leaderElection: false,
      leaseNamespace: "operators",
      leaseName: "lease.one",
      clusterId: "west-1",
      createSettleMs: 2_000,
      requestsPerMinute: 1_200,
      requestsPerSecond: 60,
      httpsProxy: "http://me:fake@proxy.example:3128/",
      noProxy: ".svc,.cluster.local",
      tenantHosts: ["control.example", "*.north.example", "127.0.0.1", "[::1]"],
      databasePort: 6432,
      databaseSslMode: "verify-full",
      databaseCaFile: "/etc/databases/ca.crt",
      tracesEndpoint: "http://collector.example:4318",
    });
  });

  test("empty settings → counted as not set", () => {
    const config = parseConfig({ ...required, CONTROL_PLANE_API_KEY: "", WORKERS: "", WATCH_NAMESPACES: "" });
    expect(config).toEqual(parseConfig(required));
  });

  test("nothing set → both missing settings named, with what would be right", () => {
    expect(problemsOf({})).toEqual([
      "CONTROL_PLANE_URL is not set; it must be an http or https URL that ends in /v2, without user, query or fragment",
      "CONTROL_PLANE_API_KEY_FILE and CONTROL_PLANE_API_KEY are both missing; exactly one of them must be set",
    ]);
  });

  test("everything wrong → one message, a line for each setting", () => {
    const wrong = {
      CONTROL_PLANE_URL: "ftp://x/v2",
      CONTROL_PLANE_API_KEY: "two words",
      CONTROL_PLANE_API_KEY_FILE: "/etc/key",
      WATCH_NAMESPACES: "Shop",
      METRICS_ADDR: "8080",
      HEALTH_ADDR: "::1:80",
      LOG_LEVEL: "loud",
      WORKERS: "0",
      OPERATION_POLL_SECONDS: "5s",
      PROJECT_POLL_SECONDS: "-1",
      RESYNC_SECONDS: "0",
      PROJECT_GRANTS: "required",
      LEADER_ELECTION: "yes",
      LEASE_NAMESPACE: "a.b",
      LEASE_NAME: "A",
      CLUSTER_ID: "two words",
      CREATE_SETTLE_SECONDS: "1e3",
      CONTROL_PLANE_REQUESTS_PER_MINUTE: "9",
      CONTROL_PLANE_REQUESTS_PER_SECOND: "0",
      TENANT_CONTROL_PLANE_HOSTS: "control.example:443",
      DATABASE_PORT: "0",
      DATABASE_SSL_MODE: "disable",
      OTEL_EXPORTER_OTLP_ENDPOINT: "https://user:password@collector.example",
    };
    const problems = problemsOf(wrong);
    expect(problems.map((problem) => problem.split(" ")[0]).sort()).toEqual(Object.keys(wrong).sort());
    expect(problems).toContain('WORKERS is "0"; it must be a whole number from 1 to 256');
    expect(problems.join("\n")).not.toContain("password");
    expect(problems).toContain('LEADER_ELECTION is "yes"; it must be true or false');
    expect(problems).toContain('LOG_LEVEL is "loud"; it must be one of fatal, error, warn, info, debug, trace, silent');
  });

  test.each([
    ["http://host/v2", true],
    ["https://host:8443/api/v2", true],
    ["https://host/api/v2/", true],
    ["https://host/api/v1", false],
    ["https://host/apiv2", false],
    ["https://host/v2?x=1", false],
    ["https://host/v2#x", false],
    ["https://user:word@host/v2", false],
    ["host/v2", false],
    ["not a url", false],
  ])("CONTROL_PLANE_URL %s → accepted: %s", (text, isAccepted) => {
    expect(problemsOf({ ...required, CONTROL_PLANE_URL: text }).length === 0).toBe(isAccepted);
  });

  test.each([
    ["0.0.0.0:8080", true],
    ["[::1]:1", true],
    ["metrics.local:65535", true],
    ["0.0.0.0:65536", false],
    [":8080", false],
    ["0.0.0.0", false],
    ["0.0.0.0:port", false],
    ["::1:8080", false],
  ])("METRICS_ADDR %s → accepted: %s", (text, isAccepted) => {
    expect(problemsOf({ ...required, METRICS_ADDR: text }).length === 0).toBe(isAccepted);
  });

  test("both servers on one address → refused, port 0 excepted", () => {
    expect(problemsOf({ ...required, METRICS_ADDR: "0.0.0.0:8081" })).toEqual([
      "METRICS_ADDR and HEALTH_ADDR are the same; they must differ",
    ]);
    expect(problemsOf({ ...required, METRICS_ADDR: "127.0.0.1:0", HEALTH_ADDR: "127.0.0.1:0" })).toEqual([]);
  });

  test("a secret in any wrong place → never in the message", () => {
    const word = "made-up-word-91";
    const message = problemsOf({
      CONTROL_PLANE_URL: `ftp://user:${word}@host/v2`,
      CONTROL_PLANE_API_KEY: fakeKey,
      WORKERS: fakeKey,
      LOG_LEVEL: `key=${fakeKey}`,
    }).join("\n");
    for (const name of ["CONTROL_PLANE_URL", "WORKERS", "LOG_LEVEL"]) {
      expect(message).toContain(`${name} is set to a value that is not shown here; it must`);
    }
    expect(message).not.toContain(word);
    expect(message).not.toContain(fakeKey);
  });

  test("a bad key → named, not shown", () => {
    expect(problemsOf({ CONTROL_PLANE_URL: url, CONTROL_PLANE_API_KEY: `${fakeKey} x` })).toEqual([
      "CONTROL_PLANE_API_KEY is set to a value that is not shown here; it must be visible ASCII characters without blanks or line ends",
    ]);
  });
});
