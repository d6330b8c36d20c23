import { parseAllDocuments } from "yaml";
import { finalizer } from "../resource/names.ts";
import { PluginError } from "./access.ts";

/** A ComputeEndpoint of a file, as the API server would store it. */
export interface FileManifest {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly finalizers: readonly string[];
  };
  readonly spec: unknown;
}

/**
 * Reads a ComputeEndpoint from YAML or JSON.
 *
 * It gets what the API server and the operator add first: a uid and the finalizer.
 *
 * @throws PluginError when the text is not YAML, or holds no ComputeEndpoint of this name.
 */
export function manifestIn(text: string, name: string | undefined, namespace: string): FileManifest {
  const found = objectsIn(text).find(
    (object) => object.kind === "ComputeEndpoint" && (name === undefined || object.metadata?.name === name),
  );
  if (found?.metadata?.name === undefined)
    throw new PluginError(`The file has no ComputeEndpoint${name === undefined ? "" : ` ${name}`}.`);
  const metadata = { uid: "not-stored-yet", resourceVersion: "0", finalizers: [finalizer] };
  return {
    metadata: { ...metadata, name: found.metadata.name, namespace: found.metadata.namespace ?? namespace },
    spec: found.spec,
  };
}

interface FileObject {
  readonly kind?: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
  readonly spec?: unknown;
  readonly items?: readonly FileObject[];
}

function objectsIn(text: string): readonly FileObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw new PluginError(`The file is not YAML: ${problem.message}`);
    const object = document.toJS() as FileObject | null;
    return object?.items ?? (object === null ? [] : [object]);
  });
}
