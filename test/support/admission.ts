/** Compares what the API server says about a spec with what the operator's own schema says. */
import { afterAll, expect, test } from "vitest";
import type { KubernetesError } from "../../src/domain/resource-store.ts";
import { createConnection, type KubernetesConnection } from "../../src/kubernetes/http/connection.ts";
import { loadCredentialSource } from "../../src/kubernetes/http/credentials.ts";
import { objectPath } from "../../src/kubernetes/http/objects.ts";
import { group, version } from "../../src/resource/names.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";
import { createTestNamespace, kubeConfigOf, sharedApiServer } from "./api-server.ts";

/** One kind of resource, and the operator's parser of it. */
export interface AdmittedKind {
  readonly kind: string;
  readonly plural: string;
  /** Whether its objects are in no namespace. @default false */
  readonly isOfCluster?: boolean;
  readonly parse: (stored: unknown) => { readonly spec: { readonly kind: string } };
}

/** `problem`: why the API server refused the spec; `isReadable`: whether the operator accepts it. */
interface Judgement {
  readonly problem: string | undefined;
  readonly isReadable: boolean;
}

export interface AdmissionCases {
  readonly valid: readonly (readonly [what: string, spec: object])[];
  /** `by`: only the API server checks it. @default the operator's schema does so too */
  readonly invalid: readonly (readonly [what: string, spec: unknown, words: RegExp, by?: "ApiServer"])[];
  /** Specs with values at and near each bound. @default none */
  readonly edgeCases?: readonly object[];
}

/** The apiVersion of all kinds of the operator. */
export const apiVersion = `${group}/${version}`;

/** The admission of one kind in a namespace of its own, for the tests of one file. */
export class Admission {
  /** The namespace in which the specs are tried. */
  readonly namespace: string;
  readonly #kind: AdmittedKind;
  readonly #connection: KubernetesConnection;

  private constructor(kind: AdmittedKind, namespace: string, connection: KubernetesConnection) {
    this.#kind = kind;
    this.namespace = namespace;
    this.#connection = connection;
  }

  /** Makes the namespace. The connection is closed after the last test of the file. @param prefix of its name */
  static async open(kind: AdmittedKind, prefix: string): Promise<Admission> {
    const namespace = await createTestNamespace(prefix);
    const credentials = loadCredentialSource(() => kubeConfigOf(sharedApiServer().kubeconfigFile));
    const connection = createConnection({ credentials, clock: systemClock, userAgent: `${prefix}-test` });
    afterAll(() => connection.close());
    return new Admission(kind, namespace, connection);
  }

  /** Returns the admission of another kind. */
  of(kind: AdmittedKind): Admission {
    return new Admission(kind, this.namespace, this.#connection);
  }

  /**
   * Sends the spec to the API server, which checks it by the CRD and stores nothing, and parses with the operator's own
   * schema what would have been stored.
   */
  async judge(spec: unknown): Promise<Judgement> {
    const { kind, plural, parse, isOfCluster } = this.#kind;
    const place = isOfCluster ? {} : { namespace: this.namespace };
    const metadata = { name: "tried", ...place };
    const body = { apiVersion, kind, metadata, spec };
    const path = objectPath(plural, place.namespace);
    // kubectl sends this value by default.
    const query = { dryRun: "All", fieldValidation: "Strict" };
    const answer = await this.#connection
      .request({ what: "create", method: "POST", path, query, body, timeoutMs: 60_000 })
      .then((stored) => ({ stored: stored as { spec?: unknown }, problem: undefined }), refusal);
    const read = { metadata: { ...metadata, uid: "u", resourceVersion: "1" }, spec: (answer.stored ?? body).spec };
    return { problem: answer.problem, isReadable: parse(read).spec.kind === "Valid" };
  }

  /**
   * Defines the tests of the kind: specs that both accept, specs that both refuse with words that say what is right, and
   * many specs with values at the bounds, about which the two must never disagree.
   */
  defineTests({ valid, invalid, edgeCases = [] }: AdmissionCases): void {
    test.each(valid)("%s → accepted by both", async (_what, spec) => {
      expect(await this.judge(spec)).toEqual({ problem: undefined, isReadable: true });
    });

    test.for(invalid)("%s → refused, with what would be right", async ([what, spec, words, by]) => {
      const { problem, isReadable } = await this.judge(spec);
      expect(problem).toMatch(words);
      // This version must still be able to read a field of a later version.
      expect(isReadable).toBe(what === "an unknown field" || by === "ApiServer");
    });

    if (edgeCases.length === 0) return;
    test("each combination of values at the bounds → the API server and the operator's schema never disagree", async () => {
      const verdicts = [];
      for (const spec of edgeCases) verdicts.push({ spec, ...(await this.judge(spec)) });
      expect(verdicts.filter(({ problem, isReadable }) => (problem === undefined) !== isReadable)).toEqual([]);
      // Each result must occur often. Otherwise an answer that is always the same would not be noticed.
      const accepted = verdicts.filter(({ isReadable }) => isReadable).length;
      expect(accepted).toBeGreaterThan(40);
      expect(edgeCases.length - accepted).toBeGreaterThan(100);
    });
  }
}

function refusal(error: KubernetesError): { readonly stored: undefined; readonly problem: string } {
  if (error.reason !== "WriteRefused") throw error;
  return { stored: undefined, problem: error.message };
}
