import { describe, expect, it } from "vitest";
import { answerHealth, watchChecks } from "../../../src/telemetry/health-checks.ts";

describe("the checks of the watch", () => {
  const ready = (hasSynced: boolean, silentForMs: number | undefined) =>
    answerHealth(watchChecks(() => ({ hasSynced, silentForMs }), 180_000));

  it("not listed yet → not ready, and why", () => {
    expect(ready(false, undefined)).toMatchObject({ status: 503 });
    expect(ready(false, undefined).body).toContain("failed cache-synced: the first list");
  });

  it("listed, heard lately → ready", () => {
    expect(ready(true, 70_000)).toMatchObject({ status: 200, body: "ok cache-synced\nok watch-fresh\nok\n" });
  });

  it("listed, not heard for too long → not ready any more; heard again → ready", () => {
    expect(ready(true, 180_001)).toMatchObject({ status: 503 });
    expect(ready(true, 180_001).body).toContain(
      "failed watch-fresh: the API server has not been heard for more than 180 s",
    );
    expect(ready(true, 0)).toMatchObject({ status: 200 });
  });
});
