/** Tests the check of scrapes. */
import { describe, expect, test } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import { createScrapeAccess } from "../../../src/kubernetes/scrape-access.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { ScriptedConnection } from "./scripted-connection.ts";

const user = { username: "prometheus", uid: "u", groups: ["g"], extra: { scope: ["s"] } };

function scene() {
  const connection = new ScriptedConnection();
  const state = { isTokenValid: true, status: { allowed: true } as object, error: undefined as Error | undefined };
  connection.respond = ({ path }) => {
    if (state.error !== undefined) throw state.error;
    const isReview = path.endsWith("/tokenreviews");
    return { status: isReview ? { authenticated: state.isTokenValid, user } : state.status };
  };
  const clock = new FakeClock();
  return { connection, state, clock, access: createScrapeAccess({ connection, clock, logger: quietLogger }) };
}

describe("the check of a scrape", () => {
  test("a valid token whose user may get /metrics → allowed; the user is passed on whole", async () => {
    const { connection, access } = scene();
    expect(await access("Bearer one")).toBe("Allowed");
    expect(connection.calls.map(({ method, path, body }) => ({ method, path, body }))).toMatchObject([
      { method: "POST", path: "/apis/authentication.k8s.io/v1/tokenreviews", body: { spec: { token: "one" } } },
      {
        method: "POST",
        path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        body: {
          spec: {
            user: "prometheus",
            uid: "u",
            groups: ["g"],
            extra: { scope: ["s"] },
            nonResourceAttributes: { path: "/metrics", verb: "get" },
          },
        },
      },
    ]);
  });

  test.each(["", "Basic b25l", "Bearer", "Bearer one two"])(
    "header %j → refused without a question",
    async (header) => {
      const { connection, access } = scene();
      expect(await access(header)).toBe("Unauthenticated");
      expect(connection.calls).toEqual([]);
    },
  );

  test.each([
    [{ allowed: false }, "Forbidden"],
    [{ allowed: true, denied: true }, "Forbidden"],
    [{}, "Forbidden"],
  ])("the review says %j → %s", async (status, verdict) => {
    const { state, access } = scene();
    state.status = status;
    expect(await access("Bearer one")).toBe(verdict);
  });

  test("the token is not valid → its user is not asked about", async () => {
    const { connection, state, access } = scene();
    state.isTokenValid = false;
    expect(await access("Bearer one")).toBe("Unauthenticated");
    expect(connection.calls).toHaveLength(1);
  });

  test("scrapes at the same time and within a minute → one question; a withdrawn right ends after a minute", async () => {
    const { connection, state, clock, access } = scene();
    await Promise.all([access("Bearer one"), access("Bearer one"), access("bearer one")]);
    await clock.advance(59_000);
    state.status = { allowed: false };
    expect(await access("Bearer one")).toBe("Allowed");
    expect(connection.calls).toHaveLength(2);
    await clock.advance(1_000);
    expect(await access("Bearer one")).toBe("Forbidden");
  });

  test("refused → asked again after five seconds", async () => {
    const { state, clock, access } = scene();
    state.status = { allowed: false };
    await access("Bearer one");
    state.status = { allowed: true };
    expect(await access("Bearer one")).toBe("Forbidden");
    await clock.advance(5_000);
    expect(await access("Bearer one")).toBe("Allowed");
  });

  test("the API server does not answer → refused, also a token that was accepted before; asked again at once", async () => {
    const { state, clock, access } = scene();
    await access("Bearer one");
    await clock.advance(60_000);
    state.error = new KubernetesError("Unavailable", "cannot create TokenReview");
    expect(await access("Bearer one")).toBe("Unknown");
    await clock.advance(0);
    state.error = undefined;
    expect(await access("Bearer one")).toBe("Allowed");
  });

  test("random tokens → a known token still works, and no result stays for ever", async () => {
    const { state, clock, access } = scene();
    await access("Bearer known");
    state.isTokenValid = false;
    const decisions = await Promise.all(Array.from({ length: 500 }, (_, index) => access(`Bearer x${index}`)));
    expect(new Set(decisions)).toEqual(new Set(["Unauthenticated"]));
    state.isTokenValid = true;
    expect(await access("Bearer known")).toBe("Allowed");
    await clock.advance(60_000);
    expect(clock.pendingTimers).toBe(0);
  });
});
