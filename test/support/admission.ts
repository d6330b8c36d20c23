/** Compares what the API server says about a spec with what the operator's own schema says. */
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll } from "vitest";
import type { KubernetesError } from "../../src/domain/resource-store.ts";
import { createConnection, type KubernetesConnection } from "../../src/kubernetes/http/connection.ts";
import { loadCredentialSource } from "../../src/kubernetes/http/credentials.ts";
import { objectPath } from "../../src/kubernetes/http/objects.ts";
import { group, version } from "../../src/resource/names.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";
import { createTestNamespace, sharedApiServer } from "./api-server.ts";

/** One kind of resource, and the operator's parser of it. */
export interface AdmittedKind {
  readonly kind: string;
  readonly plural: string;
  readonly parse: (stored: unknown) => { readonly spec: { readonly kind: string } };
}

/** `problem`: why the API server refused the spec; `isReadable`: whether the operator accepts it. */
interface Judgement {
  readonly problem: string | undefined;
  readonly isReadable: boolean;
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
    const load = () => {
      const config = new KubeConfig();
      config.loadFromFile(sharedApiServer().kubeconfigFile);
      return config;
    };
    const credentials = loadCredentialSource(load);
    const connection = createConnection({ credentials, clock: systemClock, userAgent: `${prefix}-test` });
    afterAll(() => connection.close());
    return new Admission(kind, namespace, connection);
  }

  /**
   * Sends the spec to the API server, which checks it by the CRD and stores nothing, and parses with the operator's own
   * schema what would have been stored.
   */
  async judge(spec: unknown): Promise<Judgement> {
    const { kind, plural, parse } = this.#kind;
    const metadata = { name: "tried", namespace: this.namespace };
    const body = { apiVersion, kind, metadata, spec };
    const path = objectPath(plural, this.namespace);
    // kubectl sends this value by default.
    const query = { dryRun: "All", fieldValidation: "Strict" };
    const answer = await this.#connection
      .request({ what: "create", method: "POST", path, query, body, timeoutMs: 60_000 })
      .then((stored) => ({ stored: stored as { spec?: unknown }, problem: undefined }), refusal);
    const read = { metadata: { ...metadata, uid: "u", resourceVersion: "1" }, spec: (answer.stored ?? body).spec };
    return { problem: answer.problem, isReadable: parse(read).spec.kind === "Valid" };
  }

  /** Judges all specs. @returns one text for each spec about which the two disagree, and how many were accepted */
  async judgeAll(specs: readonly object[]): Promise<{ readonly disagreements: string[]; readonly accepted: number }> {
    const disagreements: string[] = [];
    let accepted = 0;
    for (const spec of specs) {
      const { problem, isReadable } = await this.judge(spec);
      accepted += problem === undefined ? 1 : 0;
      if ((problem === undefined) !== isReadable) {
        disagreements.push(`${JSON.stringify(spec).slice(0, 200)}: ${problem ?? "accepted"}`);
      }
    }
    return { disagreements, accepted };
  }
}

function refusal(error: KubernetesError): { readonly stored: undefined; readonly problem: string } {
  if (error.reason !== "WriteRefused") throw error;
  return { stored: undefined, problem: error.message };
}
