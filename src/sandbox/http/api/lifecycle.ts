/** The checks and faults that every request under `/api/v2` passes before and after its route. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError, notPlayedSection, unauthenticatedMessage } from "../parts/errors.ts";
import type { FaultHit } from "../parts/faults.ts";
import { type CallToJudge, permissionProblem } from "../parts/key-ring.ts";
import type { RequestEntry } from "../parts/request-log.ts";
import type { ServerParts } from "../parts/server-parts.ts";
import type { KnownRoutes } from "../specification/routes.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** `undefined`: the path is not under `/api/v2`. */
    passage: Passage | undefined;
  }
}

/** A request that the sandbox sends to itself has neither. */
interface Passage {
  readonly entry: RequestEntry | undefined;
  readonly hit: FaultHit | undefined;
}

/** Marks a request that the fault `applyLate` delayed and that the sandbox now sends to itself. */
const replayHeader = "x-sandbox-replay";

export class Lifecycle {
  readonly #app: FastifyInstance;
  readonly #parts: ServerParts;
  readonly #known: KnownRoutes;
  /** The value of the replay header. It is random, so that only this process can mark a request. */
  readonly #replayToken = randomUUID();
  readonly #stopped = new AbortController();

  constructor(app: FastifyInstance, parts: ServerParts, known: KnownRoutes) {
    this.#app = app;
    this.#parts = parts;
    this.#known = known;
  }

  install(): void {
    this.#app.decorateRequest("apiKey", undefined);
    this.#app.decorateRequest("passage", undefined);
    // A hook that calls `done` costs less than a hook that returns a promise. Only a request with a fault needs a
    // promise.
    this.#app.addHook("onRequest", (request, reply, done) => this.#admit(request, reply, done));
    this.#app.addHook("preValidation", (request, reply, done) => {
      const { passage, sentBody } = request;
      if (passage?.entry !== undefined && sentBody !== undefined) {
        this.#parts.requestLog.noteBody(passage.entry, sentBody.toString());
      }
      if (!this.#setAside(request, reply)) done(notPlayedProblem(request));
    });
    this.#app.addHook("onSend", (request, reply, payload, done) => this.#beforeAnswer(request, reply, payload, done));
    this.#app.addHook("onResponse", (request, reply, done) => {
      this.#noteAnswer(request, reply);
      done();
    });
    this.#app.addHook("preClose", async () => this.#stopped.abort());
  }

  #admit(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): Promise<void> | undefined {
    const key = this.#parts.keyRing.authenticate(request.headers.authorization, request.ip);
    request.apiKey = key;
    const passage = this.#open(request, key?.name);
    request.passage = passage;
    if (passage.hit !== undefined || this.#stopped.signal.aborted) {
      return this.#cutOrDelay(request, reply, passage.hit).then((isCut) => {
        if (!isCut) this.#judge(request, reply);
      });
    }
    try {
      this.#judge(request, reply);
    } catch (error) {
      done(error as Error);
      return undefined;
    }
    done();
    return undefined;
  }

  /** @throws ApiError 401, 429, 403, 404, 405 */
  #judge(request: FastifyRequest, reply: FastifyReply): void {
    const { rateLimit, clock } = this.#parts;
    const key = request.apiKey;
    if (key === undefined) throw new ApiError(401, unauthenticatedMessage);
    const retryAfterSeconds = rateLimit?.take(clock.nowMs());
    if (retryAfterSeconds !== undefined) throw new ApiError(429, "too many requests", { retryAfterSeconds });
    const problem = permissionProblem(key, callOf(request));
    if (problem !== undefined) throw new ApiError(403, problem);
    if (request.is404) this.#known.refuse(request, reply);
  }

  #open(request: FastifyRequest, key: string | undefined): Passage {
    if (request.headers[replayHeader] === this.#replayToken) return { entry: undefined, hit: undefined };
    const { method, url } = request;
    const [path = ""] = url.split("?", 1);
    const { faults, requestLog, clock } = this.#parts;
    const entry = requestLog.open({ atMs: clock.nowMs(), method, path, route: request.routeOptions.url, key });
    const hit = faults.take({ method, path, query: url.slice(path.length + 1) });
    entry.fault = hit?.effect.kind;
    return { entry, hit };
  }

  /** Before the key is checked. A stop of the sandbox cuts the connection too. @returns whether it was cut */
  async #cutOrDelay(request: FastifyRequest, reply: FastifyReply, hit: FaultHit | undefined): Promise<boolean> {
    const effect = hit?.effect;
    if (effect?.kind === "status") {
      const { status, message = "a test has requested this fault", code = "", retryAfterSeconds } = effect;
      throw new ApiError(status, message, { code, retryAfterSeconds });
    }
    if (effect?.kind === "delay") await this.#wait(effect.milliseconds);
    const isCut = effect?.kind === "dropBefore" || this.#stopped.signal.aborted;
    if (isCut) cut(request, reply);
    return isCut;
  }

  /** The client loses its connection now, and the sandbox sends the same request to itself later. */
  #setAside(request: FastifyRequest, reply: FastifyReply): boolean {
    const hit = request.passage?.hit;
    if (hit?.effect.kind !== "applyLate") return false;
    const { milliseconds } = hit.effect;
    const { method, url, sentContentType, sentBody } = request;
    const headers = {
      authorization: request.headers.authorization ?? "",
      [replayHeader]: this.#replayToken,
      ...(sentContentType === undefined ? {} : { "content-type": sentContentType }),
    };
    const { lateEnd } = this.#parts.faults;
    cut(request, reply);
    const due = milliseconds === undefined ? hit.hold(aborted(lateEnd)) : this.#wait(milliseconds);
    void due.then(() => {
      // If the sandbox stops or all records are replaced, the request is lost, as if the network had lost it.
      if (this.#stopped.signal.aborted || lateEnd.aborted) return;
      this.#app.inject({ method: method as "POST", url, headers, ...(sentBody && { payload: sentBody }) }, () => {});
    });
    return true;
  }

  /** By the machine's clock, because the wait imitates a slow network. */
  async #wait(milliseconds: number): Promise<void> {
    await wait(milliseconds, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
  }

  #beforeAnswer(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (error: null, payload: unknown) => void,
  ): Promise<unknown> | undefined {
    this.#parts.pacemaker.look();
    const { hit, entry } = request.passage ?? {};
    if (entry !== undefined && reply.statusCode >= 400) entry.error = messageOf(payload);
    if (hit !== undefined) return this.#spoilAnswer(hit, { request, reply, payload });
    done(null, payload);
    return undefined;
  }

  /** Applies the faults of an answer that is ready. @returns the body to send */
  async #spoilAnswer(
    hit: FaultHit,
    { request, reply, payload }: { request: FastifyRequest; reply: FastifyReply; payload: unknown },
  ): Promise<unknown> {
    switch (hit.effect.kind) {
      case "dropAfter":
      case "applyLate":
        request.raw.socket.destroy();
        return payload;
      case "hold":
        await hit.hold(Promise.race([once(request.raw.socket, "close"), aborted(this.#stopped.signal)]));
        return payload;
      case "garbage": {
        const { body, status = reply.statusCode, contentType } = hit.effect;
        reply.code(status).removeHeader("content-length");
        if (contentType !== undefined) reply.header("content-type", contentType);
        return body;
      }
      default:
        return payload;
    }
  }

  #noteAnswer(request: FastifyRequest, reply: FastifyReply): void {
    const entry = request.passage?.entry;
    if (entry !== undefined) entry.milliseconds = Math.round(reply.elapsedTime * 10) / 10;
    const wasCut = entry?.fault === "dropAfter" || entry?.fault === "applyLate" || entry?.fault === "dropBefore";
    if (entry !== undefined && !wasCut && reply.raw.writableFinished) entry.status = reply.statusCode;
  }
}

function messageOf(payload: unknown): string {
  const text = String(payload);
  return text.startsWith("{") ? (JSON.parse(text) as { message: string }).message : text;
}

/** Whether a value asks for nothing, such as a limit of 0, an empty list, or an object of such values. */
function asksForNothing(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(asksForNothing);
  return [undefined, null, false, "", "false", 0].includes(value as null);
}

function valuesAt(body: unknown, path: string): readonly unknown[] {
  return path
    .split(".")
    .reduce<readonly unknown[]>(
      (values, step) =>
        values.flatMap((value) => (step === "*" && Array.isArray(value) ? value : [fieldOf(value, step)])),
      [body],
    );
}

function fieldOf(value: unknown, name: string): unknown {
  return (value as Record<string, unknown> | null | undefined)?.[name];
}

/** Returns the error 501 if the request asks for something that the sandbox does not support. */
function notPlayedProblem({ routeOptions, body, query }: FastifyRequest): ApiError | undefined {
  const isGiven = (field: string): boolean => {
    const [path = "", value] = field.split("=");
    const given = [...valuesAt(body, path), fieldOf(query, path)];
    return value === undefined ? !given.every(asksForNothing) : given.includes(value);
  };
  const field = routeOptions.config.notPlayed?.find(isGiven);
  return field === undefined
    ? undefined
    : new ApiError(501, `${field}: is not supported by the sandbox, see ${notPlayedSection}`);
}

function callOf({ method, routeOptions, params }: FastifyRequest): CallToJudge {
  return { method, route: routeOptions.config, projectId: (params as { project_id?: string }).project_id };
}

function cut(request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack();
  request.raw.socket.destroy();
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return signal.aborted ? Promise.resolve() : once(signal, "abort");
}
